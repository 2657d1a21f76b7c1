// Order statistics as pure functions. Each throws std::invalid_argument for an empty sample.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace parabench {

/// Quantile by linear interpolation between order statistics (type 7 of Hyndman and Fan 1996; numpy's default).
/// Precondition: 0 <= p <= 1. O(n log n).
double quantile(std::span<const double> values, double p);

/// quantile(values, 0.5).
double median(std::span<const double> values);

/// Median of |x - median|, without the factor 1.4826 for normal data. scipy: median_abs_deviation.
double mad(std::span<const double> values);

double mean(std::span<const double> values);

/// Percentile bootstrap interval of the median of the pooled values (Efron 1979): [lo, hi] that holds `confidence` of
/// the medians of `resamples` samples drawn with replacement. Values of one group depend on each other (steps of one
/// launch), so several groups are drawn as wholes; the values of a single group are drawn one by one.
/// Deterministic for a seed. O(resamples x values).
std::pair<double, double> bootstrap_median(std::span<const std::vector<double>> groups, double confidence = 0.95,
                                           int resamples = 2000, std::uint64_t seed = 1);

}  // namespace parabench
