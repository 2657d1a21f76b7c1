// A futurized plan on paper: list scheduling.
#pragma once

#include "analytic/costs/time_model.h"
#include "parallelism/plan/timeline.h"

namespace parabench::analytic {

/// The timeline of a plan (unrolled) whose ranks fire their compute operations by readiness (parallelism/plan):
/// whenever one of a rank's operations_at_once(plan.spec) workers is free, it takes the first in the plan's order of
/// those that may start; an operation that has started is not interrupted (list scheduling, Graham 1966, with the
/// plan's order as the list). Messages, collectives and shared cores are as in simulate(), and so is what is thrown.
/// O(n log n) in operations; with shared cores O(n k), k being the operations that run at a time.
plan::Timeline simulate_by_readiness(const plan::Plan& plan, const TimeModel& time);

}  // namespace parabench::analytic
