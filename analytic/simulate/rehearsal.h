// What computing takes in rehearsals of a plan: steps in which ranks hand nothing on, and wait as if they did.
#pragma once

#include <memory>
#include <vector>

#include "analytic/costs/time_model.h"
#include "parallelism/plan/timeline.h"

namespace parabench::analytic {

/// The plan (unrolled) by `time` if nothing that ranks hand on took any time: all waiting is for each other's
/// computing. So do rehearsals wait, since computing that shares cores with no message or sum is what they time. Throws
/// what simulate() throws.
plan::Timeline simulate_free_exchanges(const plan::Plan& plan, const TimeModel& time);

/// Of every operation of the compute lanes, [rank][index].
using ComputeSeconds = std::vector<std::vector<double>>;

/// Without waiting for samples.
ComputeSeconds compute_seconds(const plan::Timeline& timeline);

/// Another model's times, which are those of a chain of segments. What an operation finds in the caches depends on what
/// its rank did before, and on how long it waited, so that each takes as much longer or shorter here as it was
/// `measured` to in a rehearsal of `plan` (unrolled), whose ranks wait as long as simulate_free_exchanges() says,
/// beside what it takes there. How far repetitions are from each other is in what was measured, so that deviation_s()
/// of these is 0. Preconditions: `measured` is of all compute operations of the plan; no other plan is asked for than
/// that and equal ones. O(operations log operations), beside what simulate() is.
std::unique_ptr<const TimeModel> times_rehearsed(std::unique_ptr<const TimeModel> of_chain, const plan::Plan& plan,
                                                 const ComputeSeconds& measured);

}  // namespace parabench::analytic
