#include "suite/selection.h"

#include <algorithm>

#include "base/case_id.h"
#include "base/error.h"
#include "suite/where.h"

namespace parabench {

std::vector<SelectedCase> select(const Selection& selection, const std::vector<Case>& set) {
  std::vector<SelectedCase> candidates;
  for (const auto& text : selection.cases) {
    const Case spec = parse_case(text);
    candidates.push_back({spec, to_id(spec), true});
  }
  if (selection.cases.empty()) {
    for (const Case& spec : set) candidates.push_back({spec, to_id(spec), false});
  }
  const auto conditions = selection.where ? parse_where(*selection.where) : std::vector<Condition>{};
  std::vector<SelectedCase> chosen;
  for (auto& candidate : candidates) {
    const bool wanted = (!selection.filter || filter_matches(*selection.filter, candidate.id)) &&
                        std::ranges::all_of(conditions, [&](const Condition& c) { return holds(c, candidate.spec); }) &&
                        std::ranges::find(chosen, candidate.id, &SelectedCase::id) == chosen.end();
    if (wanted) chosen.push_back(std::move(candidate));
  }
  if (chosen.empty()) {
    throw Error(ExitCode::nothing_matched, "filter", selection.filter.value_or(selection.where.value_or("")),
                "to match at least one case", "parabench list shows them");
  }
  return chosen;
}

}  // namespace parabench
