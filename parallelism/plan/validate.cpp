#include "parallelism/plan/validate.h"

#include "base/error.h"
#include "parallelism/plan/formats/print_text.h"
#include "parallelism/plan/matching.h"
#include "parallelism/plan/rules/collectives.h"
#include "parallelism/plan/rules/compute.h"
#include "parallelism/plan/rules/fields.h"
#include "parallelism/plan/rules/messages.h"
#include "parallelism/plan/rules/progress.h"

namespace parabench::plan {

void check_progress(const Plan& plan, Violations& found) {
  std::vector<LocalDependencies> local;
  Matching matching;
  const std::size_t before = found.size();
  try {
    matching = match(plan);
    for (int r = 0; r < static_cast<int>(plan.ranks.size()); ++r) local.push_back(dependencies(plan, Rank(r)));
  } catch (const Error& error) {
    // Mismatched messages are reported with their places by check_messages.
    const Rank r(static_cast<int>(local.size()));
    found.push_back({{r}, "dependency", error.what()});
    return;
  }
  for (int r = 0; r < static_cast<int>(plan.ranks.size()); ++r) {
    for (int lane = 0; lane < std::ssize(plan.ranks[r].lanes); ++lane) {
      for (int i = 0; i < std::ssize(plan.ranks[r].lanes[lane].ops); ++i) {
        for (OpRef needed : local[r].of(lane, i)) {
          if (needed.lane != lane || needed.index < i) continue;
          const OpRef ref{Rank(r), lane, i};
          found.push_back({ref, "order", describe(plan, ref) + " comes before " + describe(plan, needed)});
        }
      }
    }
  }
  if (found.size() > before) return;
  for (auto [delivery, name] :
       {std::pair{Delivery::rendezvous, "rendezvous"}, {Delivery::buffered, "buffered sends"}}) {
    for (OpRef ref : run_lanes(plan, local, matching, delivery).stuck) {
      found.push_back({ref, "progress", describe(plan, ref) + " never ends under " + name});
    }
  }
}

std::vector<Violation> validate(const Plan& plan) {
  Violations found;
  check_fields(plan, found);
  if (!found.empty()) return found;
  check_compute(plan, found);
  check_collectives(plan, found);
  check_messages(plan, found);
  if (found.empty()) check_progress(plan, found);
  return found;
}

void require_valid(const Plan& plan) {
  const Violations found = validate(plan);
  if (found.empty()) return;
  constexpr std::size_t shown = 8;
  std::string text;
  for (std::size_t i = 0; i < found.size() && i < shown; ++i) text += "\n  " + found[i].rule + ": " + found[i].text;
  if (found.size() > shown) text += "\n  and " + std::to_string(found.size() - shown) + " more";
  Violations wrong_fields;
  check_fields(plan, wrong_fields);
  // A plan that names what it does not have cannot be drawn.
  if (wrong_fields.empty()) text += '\n' + to_text(plan);
  throw usage_error("plan", std::to_string(found.size()) + " violations", "a plan that keeps all rules",
                    "they are:" + text);
}

}  // namespace parabench::plan
