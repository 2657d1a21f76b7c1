// Whether a calibration launch had the machine to itself.
#pragma once

#include <string>

#include "analytic/calibration/calibration.h"

namespace parabench::analytic {

/// Why times of a launch are not those of this machine alone, by its canary (base/canary.h); "" where nothing says so:
///  - its matrix product took more than largest_drift times that of the fastest launch of as many ranks in `known`,
///    which may hold the launch itself. The product alone: others share its cores, while a triad does not follow them;
///  - a hypervisor kept more than largest_steal_share of the cores' time from it.
/// A launch without a canary is not judged. O(launches).
std::string disturbance(const Calibration& known, const Calibration& launch);

}  // namespace parabench::analytic
