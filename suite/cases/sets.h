// Named sets of cases: what `run --set NAME` runs.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/case.h"

namespace parabench::suite {

struct CaseSet {
  std::string_view name;
  std::string_view help;  ///< one line: what it is for
  std::vector<Case> (*cases)();
};

/// quick, ddlbench, schedules, gpu.
std::span<const CaseSet> case_sets();
/// Throws usage_error with the nearest name.
const CaseSet& find_set(std::string_view name);

}  // namespace parabench::suite
