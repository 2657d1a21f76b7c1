// How long each operation of a plan takes: what a plan file tells ranks that emulate their devices.
#pragma once

#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// Seconds of every operation, [rank][lane][index] as in the plan: of a compute operation with its device to itself, of
/// a message or reduction from when both, or all, of its ends have come to it.
using Durations = std::vector<std::vector<std::vector<double>>>;

/// Those of unroll(plan, steps).
Durations unroll(const Plan& plan, const Durations& durations, int steps);

}  // namespace parabench::plan
