// The terms of a prediction: what a reader needs to follow it by hand.
#pragma once

#include <span>
#include <vector>

#include "analytic/costs/memory_model.h"
#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"
#include "base/prediction.h"

namespace parabench::analytic {

/// Costs of the operations of each stage (replica 0, its first micro-batch, all ranks busy), bytes moved, FLOPs, and
/// the busiest rank's breakdown, whose sum is the step. `ranks` and `step_s`: the simulation's results. `counted`: with
/// all ranks and members of groups, and with the whole lanes of the busiest of them, where `plan` lists less.
std::vector<Term> terms_of(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time, const MemoryModel& memory,
                           std::span<const RankPredicted> ranks, double step_s, const plan::Plan& counted);
inline std::vector<Term> terms_of(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time,
                                  const MemoryModel& memory, std::span<const RankPredicted> ranks, double step_s) {
  return terms_of(plan, sizes, time, memory, ranks, step_s, plan);
}

}  // namespace parabench::analytic
