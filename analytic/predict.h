// The prediction of a case: simulated timeline, memory, terms and closed forms as a second opinion.
#pragma once

#include "analytic/simulate.h"
#include "base/prediction.h"

namespace parabench {

/// Predicts the steady step time of `plan` (as made, not yet unrolled): simulates `steps` steps after `warmup` discarded ones, as the
/// executor runs them, and takes the median step. Uses the cost model alone. The interval comes from the medians' absolute
/// deviations where costs are calibrated. Second opinions: closed forms of closed_forms.h that apply to the strategy.
Predicted predict(const Plan& plan, const ModelSpec& model, const CostModel& cost, int warmup, int steps);

}  // namespace parabench
