// What a plan's batch takes on one device.
#pragma once

#include "analytic/costs/time_model.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// T_seq: the pieces of replica 0 one after the other and an update of all weights, each segment on the first rank that
/// has it, which alone is busy.
double sequential_seconds(const plan::Plan& plan, const TimeModel& time);

}  // namespace parabench::analytic
