#include "analytic/simulate/predict_copies.h"

#include "analytic/costs/group_times.h"
#include "analytic/simulate/predict.h"
#include "parallelism/plan/strategies/two_copies.h"

namespace parabench::analytic {

Predicted predict_copies(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time, const MemoryModel& memory,
                         int warmup, int steps) {
  const auto among_all = group_times(time, plan::with_all_members(plan));
  Predicted result = predict(plan, sizes, *among_all, memory, warmup, steps);
  result.timeline.reset();
  const int each = plan::ranks_of_copy(plan.spec);
  result.ranks.resize(each);
  result.ranks.reserve(plan.spec.np);
  for (int rank = each; rank < plan.spec.np; ++rank) {
    result.ranks.push_back(result.ranks[rank - each]);
    result.ranks.back().rank = Rank(rank);
  }
  return result;
}

}  // namespace parabench::analytic
