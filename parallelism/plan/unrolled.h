// In which order the operations of a synchronous plan follow each other over several steps.
#pragma once

#include <span>
#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// An operation of a lane, and in which repeat of the plan's own steps.
struct Repeated {
  int index = 0;
  int time = 0;
};

/// `times` repeats of a lane: one after the other, but for updates that are late (Plan::updates_late). Such an update
/// stands directly before the first forward that reads what it writes, in the next repeat; those of the last one at the
/// end, in the order of forwards. O(operations).
std::vector<Repeated> unrolled_lane(const Plan& plan, std::span<const Op> once, int times);

}  // namespace parabench::plan
