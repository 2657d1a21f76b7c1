#include "parallelism/plan/rules/rank_updates.h"

#include <utility>

#include "base/optimizer.h"

namespace parabench::plan {

void RankUpdates::complain(std::string rule, const Op& op, const std::string& what) const {
  complain_of(op, rank, std::move(rule), what, found);
}

void RankUpdates::check_count(const Counted& counted, int due, const Op& missing) const {
  if (counted.count < due) complain("exactly once", missing, "is missing");
  if (counted.count > due) complain("exactly once", *counted.op, "is one too many");
}

RankUpdates rank_updates(const Plan& plan, Rank rank, Violations& found) {
  return {.plan = plan,
          .rank = rank,
          .found = found,
          .reads_norms = find_optimizer(plan.spec.optimizer.name).reads_norms,
          .compression = compression(plan.spec),
          .steps = std::vector(plan.segments.size(), std::vector<UpdateStep>(plan.steps))};
}

bool same_run(const Op& a, const Op& b) {
  return a.segment == b.segment && a.segments == b.segments && a.group == b.group;
}

void complain_of(const Op& op, Rank rank, std::string rule, const std::string& what, Violations& found) {
  found.push_back({{rank},
                   std::move(rule),
                   to_text(op) + " of step " + std::to_string(op.step.value) + ' ' + what + " on rank " +
                       std::to_string(rank.value)});
}

}  // namespace parabench::plan
