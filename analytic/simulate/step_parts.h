// What takes the time of a step's operations.
#pragma once

#include <span>

#include "analytic/costs/time_model.h"
#include "base/prediction.h"

namespace parabench::analytic {

/// Of a rank's step, in seconds: passes and updates, no waiting.
double computing_s(const Breakdown& step);

/// The rank whose passes and updates take longest in a step, to a billionth; of several the first. Precondition:
/// `ranks` are those of a prediction, all and in order.
Rank busiest_rank(std::span<const RankPredicted> ranks);

/// The parts of the rank's operations, summed over its lanes, mean over the plan's steps: compute operations with all
/// ranks busy, messages (at both ends) and collectives with nothing else running. Operations that overlap count in
/// full, waiting does not count: their sum is not the step time.
StepParts step_parts(const plan::Plan& plan, const TimeModel& time, Rank rank);

}  // namespace parabench::analytic
