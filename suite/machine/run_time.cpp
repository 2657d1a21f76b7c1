#include "suite/machine/run_time.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "suite/cases/sets.h"
#include "suite/machine/calibrate.h"
#include "suite/run/case_run.h"

namespace parabench::suite {
namespace {

std::string duration_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

}  // namespace

Check run_time_check(const PrepareOptions& options, const Knowledge& knowledge) {
  const RunOptions usual;
  std::vector<std::string> sets;
  for (const CaseSet& set : case_sets()) {
    const auto cases = prepare(select({.set = std::string(set.name)}, {}), options, knowledge);
    double seconds = 0;
    for (const Prepared& one : cases) seconds += expected_seconds(one, usual);
    for (const std::size_t i : measured_first(cases, knowledge))
      seconds += expected_seconds(protocol::Phase::calibrate, *cases[i].forecast, 0);
    const auto running = std::ranges::count_if(cases, &Prepared::runs);
    sets.push_back(fmt::format("{} {} ({} of {} run here)", set.name, duration_text(seconds), running,
                               counted(cases.size(), "case")));
  }
  return {"run time", CheckStatus::ok, fmt::format("of run --set, with one launch per case: {}", fmt::join(sets, ", ")),
          ""};
}

}  // namespace parabench::suite
