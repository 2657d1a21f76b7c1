// What several launches of a calibration say together.
#pragma once

#include <string>
#include <vector>

#include "analytic/calibration/calibration.h"

namespace parabench::analytic {

/// Launches that a calibration keeps of each value at least, the newest; the others stay as long as something else that
/// they measured is among the newest of its kind.
inline constexpr int most_launches = 9;

/// Of every value (a layer's time at a number of samples, a curve's at a size, a rate, an overhead, bytes) the median
/// over the launches that measured it, weighted by nothing, whatever the machine was like: of two their mean. Medians
/// absolute deviations are within launches; how far launches are from each other: launches_behind(). Machine of the
/// newest launch, with the GPUs of the newest that saw any. One launch is itself. The order of `launches` matters only
/// among those of one date. Precondition: at least one launch; none is combined itself. O(n log n) in values.
Calibration combined(std::vector<Calibration> launches);

/// The launches that a calibration was combined from, or itself.
std::vector<Calibration> launches_of(Calibration calibration);

/// Adds the launches of `newer`, and combines. Launches all of whose values newer ones have measured most_launches
/// times are left out; returns their dates. A calibration that measured nothing is no launch.
std::vector<std::string> merge(Calibration& into, const Calibration& newer);

}  // namespace parabench::analytic
