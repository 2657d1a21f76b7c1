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
  std::string id;      ///< canonical, its strategy's parameters too
  bool named = false;  ///< on the command line: what cannot run is an error, not a skip
  std::shared_ptr<const plan::GivenSchedule> given = nullptr;  ///< of strategy csv
  std::string schedule = {};                                   ///< its file
};

struct Selection {
  std::vector<std::string> cases;     ///< ids; empty: all of a set
  std::optional<std::string> filter;  ///< an id, or a regular expression searched in ids
  std::optional<std::string> where;
  std::string schedule;                 ///< file with the schedule of the cases of strategy csv; "" for none
  std::optional<std::string> set = {};  ///< name of a set of cases; nullopt: the command's own
  bool empty() const { return cases.empty() && !set && !filter && !where; }
};

/// The named cases, else those of the named set, else of `usual`, that filter and where let through, each once. A named
/// case `csv` gets the hash of the schedule into its id. Throws usage_error for a malformed id, filter, condition or
/// schedule, for a schedule that no case asks for, cases beside a set, and Error with code nothing_matched when none is
/// left.
std::vector<SelectedCase> select(const Selection& selection, const std::vector<Case>& usual);

}  // namespace parabench::suite
