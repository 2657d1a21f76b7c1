// The prediction of a case: simulated timeline, memory, terms and closed forms as a second opinion.
#pragma once

#include "analytic/costs/memory_model.h"
#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"
#include "base/prediction.h"

namespace parabench::analytic {

/// Predicts the steady step time of `plan` (as made, not yet unrolled): simulates `steps` steps after `warmup`
/// discarded ones, as the executor runs them, and takes the median step; beside it the makespan of one step alone.
/// Calibrated ranks that share cores are unequal (jitter.h), over one step more where that makes their number even. A
/// step that is shorter than its slowest loader waits for that (wait_for_samples(), loading.h).
/// Uses the two models alone. An asynchronous plan fills its pipeline in the window's first steps and drains it in the
/// last ones, as many as are in flight: the median is the steady state's as long as these are fewer than half of
/// `steps`, else that of what a run of this window measures. The breakdown is the mean over all of `steps`, draining
/// included.
///  - Interval: the same with every operation slower, and faster, by 1.96 x deviation_per_mad times its deviation
///    (TimeModel::deviation_s; the 95 % range of normal noise), all together: a machine's noise is shared. Without
///    deviations: the step time twice.
///  - Terms: what each stage's operations cost, what moves, and the sum of the busiest rank's step.
/// Throws what simulate() throws.
/// `counted`: what terms and closed forms count over, as in terms_of(). Of a plan of two copies of it the ranks of one
/// are told.
Predicted predict(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time, const MemoryModel& memory,
                  int warmup, int steps, const plan::Plan& counted);
inline Predicted predict(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time, const MemoryModel& memory,
                         int warmup, int steps) {
  return predict(plan, sizes, time, memory, warmup, steps, plan);
}

}  // namespace parabench::analytic
