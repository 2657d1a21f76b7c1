// Between and beyond measured points.
#pragma once

#include <cstdint>
#include <span>

#include "analytic/calibration/calibration.h"

namespace parabench::analytic {

/// A figure of a layer at a number of samples: t = t_floor + samples t_sample on the segment between the measured
/// neighbours, beyond them on the nearest pair's line; never below proportion to the smallest point (t_floor >= 0)
/// nor below 0. A single point scales in proportion. Precondition: `timings` is not empty.
double at_samples(std::span<const LayerTiming> timings, int samples, double (*value)(const LayerTiming&));

/// Seconds of a transfer: linear between points; below the first point its seconds (latency), beyond the last its
/// rate. Precondition: `curve` is not empty.
double at_bytes(const Curve& curve, std::int64_t bytes);

}  // namespace parabench::analytic
