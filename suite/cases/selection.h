// Which cases a command works on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/case.h"
#include "parallelism/plan/formats/given_schedule.h"

namespace parabench::suite {

struct SelectedCase {
  Case spec;
  std::string id;      ///< canonical
  bool named = false;  ///< on the command line: what cannot run is an error, not a skip
  std::shared_ptr<const plan::GivenSchedule> given = nullptr;  ///< of strategy csv
  std::string schedule = {};                                   ///< its file
};

struct Selection {
  std::vector<std::string> cases;     ///< ids; empty: all of the set below
  std::optional<std::string> filter;  ///< an id, or a regular expression searched in ids
  std::optional<std::string> where;
  std::string schedule;  ///< file with the schedule of the cases of strategy csv; "" for none
  bool empty() const { return cases.empty() && !filter && !where; }
};

/// The named cases, else those of `set`, that filter and where let through, each once. A named case `csv` gets the
/// hash of the schedule into its id. Throws usage_error for a malformed id, filter, condition or schedule, for a
/// schedule that no case asks for, and Error with code nothing_matched when none is left.
std::vector<SelectedCase> select(const Selection& selection, const std::vector<Case>& set);

}  // namespace parabench::suite
