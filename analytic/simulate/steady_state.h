// Steps that follow each other without a barrier: what schedules without a bubble promise.
#pragma once

#include "analytic/costs/time_model.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

struct SteadyState {
  double step_s = 0;           ///< from one step's completion to the next one's
  double bubble_fraction = 0;  ///< 1 - busy / (ranks * step_s), busy being the compute lanes' passes of a step
};

/// Of a synchronous plan, simulated over steps that start as soon as their operations can: a rank that has updated
/// begins the next step while others still drain. Mean of the later half of eight steps; pipelines settle within two.
/// Throws what simulate() throws. Precondition: plan.steps is 1.
SteadyState steady_state(const plan::Plan& plan, const TimeModel& time);

}  // namespace parabench::analytic
