// Between and beyond measured points.
#pragma once

#include <cstdint>
#include <span>

#include "analytic/calibration/calibration.h"

namespace parabench::analytic {

/// A figure that is counted, such as bytes, of a layer at a number of samples: on the segment between the measured
/// neighbours, beyond them on the nearest pair's line; never below proportion to the smallest point nor below 0. A
/// single point scales in proportion. Precondition: `timings` is not empty.
double counted_at(std::span<const LayerTiming> timings, int samples, double (*value)(const LayerTiming&));

/// A figure that is timed, so that each point is off by chance: between measured neighbours as above. Beyond them it
/// grows from the nearest point as the line does that is closest to all points by the squares of relative deviations:
/// t_floor + samples t_sample, neither below 0. The nearest pair alone would carry its chance as far as that is away.
/// Where a value is 0, by
/// counted_at(). Precondition: `timings` is not empty. O(points).
double timed_at(std::span<const LayerTiming> timings, int samples, double (*value)(const LayerTiming&));

/// Seconds of a transfer: linear between points; below the first point its seconds (latency), beyond the last its
/// rate. Precondition: `curve` is not empty.
double at_bytes(const Curve& curve, std::int64_t bytes);

}  // namespace parabench::analytic
