#include "analytic/simulate/step_parts.h"

#include <algorithm>

namespace parabench::analytic {

double computing_s(const Breakdown& step) { return step.forward + step.backward + step.recompute + step.update; }

Rank busiest_rank(std::span<const RankPredicted> ranks) {
  const auto busy = [](const RankPredicted& rank) { return computing_s(rank.breakdown_s); };
  // Of ranks that do the same the first, whatever rounding made of their sums.
  const double most = busy(*std::ranges::max_element(ranks, {}, busy));
  return std::ranges::find_if(ranks, [&](const RankPredicted& rank) { return busy(rank) >= (1 - 1e-9) * most; })->rank;
}

StepParts step_parts(const plan::Plan& plan, const TimeModel& time, Rank rank) {
  TimeParts sum;
  for (const plan::Lane& lane : plan.ranks[rank.value].lanes) {
    const int busy = lane.key.kind == plan::LaneKind::compute ? plan::computing_ranks(plan) : 1;
    for (const plan::Op& op : lane.ops) sum += time.parts(plan, rank, op, busy);
  }
  return {rank, 1.0 / plan.steps * sum};
}

}  // namespace parabench::analytic
