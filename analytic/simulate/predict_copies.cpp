#include "analytic/simulate/predict_copies.h"

#include "analytic/costs/group_times.h"
#include "analytic/simulate/predict.h"
#include "parallelism/plan/strategies/two_copies.h"

namespace parabench::analytic {

Predicted predict_copies(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time, const MemoryModel& memory,
                         int warmup, int steps) {
  plan::Plan counted = plan::with_all_members(plan);
  const auto among_all = group_times(time, counted);
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) counted.ranks[rank].lanes = plan.ranks[rank].lanes;
  Predicted result = predict(plan, sizes, *among_all, memory, warmup, steps, counted);
  result.timeline.reset();
  const int each = plan::ranks_of_copy(plan.spec);
  result.ranks.reserve(plan.spec.np);
  for (int rank = each; rank < plan.spec.np; ++rank) {
    result.ranks.push_back(result.ranks[rank - each]);
    result.ranks.back().rank = Rank(rank);
  }
  return result;
}

}  // namespace parabench::analytic
