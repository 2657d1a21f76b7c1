// How long each operation of a plan takes: what a plan file tells ranks that emulate their devices.
#pragma once

#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// Of a compute operation with its device to itself, of a message or collective from when both, or all, of its ends
/// have come to it, while nothing else is on its way.
struct Duration {
  double seconds = 0;
  double on_link_s = 0;  ///< what of it passes over links that ranks share (SharedLinks); the rest is latency
  bool operator==(const Duration&) const = default;
};

/// Of every operation, [rank][lane][index] as in the plan.
using Durations = std::vector<std::vector<std::vector<Duration>>>;

/// Those of unroll(plan, steps).
Durations unroll(const Plan& plan, const Durations& durations, int steps);

}  // namespace parabench::plan
