// How fast a rank's gradients were reduced, in a figure that is comparable between numbers of ranks.
#pragma once

#include <optional>

#include "analytic/memory/sizes.h"
#include "parallelism/plan/matching.h"
#include "parallelism/plan/timeline.h"

namespace parabench::rank {

/// Bytes per second of the rank's collectives, but for those between passes, in the steps from `first_step` on, all
/// taken together, as nccl-tests define the bus bandwidth. A collective counts from when its last rank had joined until
/// it ended on this one: what a rank waits for others that still compute is not the link's. nullopt where nothing was
/// reduced between ranks. `matching`: match(plan). O(operations).
std::optional<double> reduction_bandwidth(const plan::Plan& plan, const plan::Matching& matching,
                                          const analytic::Sizes& sizes, const plan::Timeline& timeline, Rank rank,
                                          StepId first_step);

}  // namespace parabench::rank
