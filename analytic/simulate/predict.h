// The prediction of a case: simulated timeline, memory, terms and closed forms as a second opinion.
#pragma once

#include <map>
#include <string>

#include "analytic/simulate/simulate.h"
#include "base/prediction.h"

namespace parabench {

/// Predicts the steady step time of `plan` (as made, not yet unrolled): simulates `steps` steps after `warmup`
/// discarded ones, as the executor runs them, and takes the median step; beside it the makespan of one step alone.
/// Uses the cost model alone.
///  - Interval: the same with every operation slower, and faster, by 1.96 x 1.4826 median absolute deviations (the 95 %
///    range of normal noise), all together: a machine's noise is shared. Without deviations: the step time twice.
///  - Terms: what each stage's operations cost, what moves, and the sum of the busiest rank's step.
/// Throws what simulate() throws.
Predicted predict(const Plan& plan, const ModelSpec& model, const CostModel& cost, int warmup, int steps);

/// Step times by the closed forms of closed_forms.h that apply to the plan:
///   one rank                         sum_of_operations, one after the other
///   replicas of one stage            ddlbench_eq_5_1
///   pipeline with whole backwards    ddlbench_eq_6_1_6_2, unequal_stages
///   other pipelines that drain       schedule_formula: the makespan in its row
///   pipelines that do not            pipedream_planner: the slowest stage or boundary
/// None with several copies of a pipeline or with recomputed passes.
std::map<std::string, double> second_opinions(const Plan& plan, const ModelSpec& model, const CostModel& cost);

}  // namespace parabench
