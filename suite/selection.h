// Which cases a command works on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/case.h"

namespace parabench {

struct SelectedCase {
  Case spec;
  std::string id;      ///< canonical
  bool named = false;  ///< on the command line: what cannot run is an error, not a skip
};

struct Selection {
  std::vector<std::string> cases;     ///< ids; empty: all of the set below
  std::optional<std::string> filter;  ///< an id, or a regular expression searched in ids
  std::optional<std::string> where;
  bool empty() const { return cases.empty() && !filter && !where; }
};

/// The named cases, else those of `set`, that filter and where let through, each once. Throws usage_error for a
/// malformed id, filter or condition, and Error with code nothing_matched when none is left.
std::vector<SelectedCase> select(const Selection& selection, const std::vector<Case>& set);

}  // namespace parabench
