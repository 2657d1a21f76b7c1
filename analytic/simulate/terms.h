// The terms of a prediction: what a reader needs to follow it by hand.
#pragma once

#include <span>
#include <vector>

#include "analytic/costs/cost_model.h"
#include "base/prediction.h"

namespace parabench {

/// Costs of the operations of each stage (replica 0, its first micro-batch, all ranks busy), bytes moved, FLOPs, and
/// the busiest rank's breakdown, whose sum is the step. `ranks` and `step_s`: the simulation's results.
std::vector<Term> terms_of(const Plan& plan, const ModelSpec& model, const CostModel& cost,
                           std::span<const RankPredicted> ranks, double step_s);

}  // namespace parabench
