// Order statistics as pure functions. Each throws std::invalid_argument for an empty sample.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace parabench {

/// Quantile by linear interpolation between order statistics (type 7 of Hyndman and Fan 1996; numpy's default).
/// Precondition: 0 <= p <= 1. O(n log n).
double quantile(std::span<const double> values, double p);

/// quantile(values, 0.5).
double median(std::span<const double> values);

/// Median of |x - median|, without the factor deviation_per_mad for normal data. scipy: median_abs_deviation.
double mad(std::span<const double> values);
/// Of normal data, the standard deviation over the median absolute deviation.
constexpr double deviation_per_mad = 1.4826;

double mean(std::span<const double> values);
/// Of what the values are a sample of (divisor n - 1). Precondition: two values or more.
double standard_deviation(std::span<const double> values);

/// Spearman's rank correlation (1904): Pearson's correlation of the ranks, equal values sharing the mean of theirs.
/// scipy: spearmanr. Nothing where all values of a sample are equal. Throws std::invalid_argument for samples of
/// different lengths. O(n log n).
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

/// Student's t: the value below which `p` of the distribution lies. By bisection of the finite sums for whole degrees
/// of freedom (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4). Preconditions: 0 < p < 1, degrees_of_freedom >= 1.
double student_t_quantile(double p, int degrees_of_freedom);

/// The value below which `p` of the standard normal distribution lies, by bisection. scipy: norm.ppf. Precondition: 0 <
/// p < 1.
double normal_quantile(double p);
/// Normal scores: about what the k-th smallest of `n` independent standard normal values is in the mean, ascending
/// (Blom 1958); their sum is 0. Precondition: n >= 1.
std::vector<double> normal_scores(int n);

/// The test of Mann and Whitney (1947), two-sided: could two samples of independent values come from one distribution?
struct MannWhitney {
  double u = 0;  ///< pairs of a value of `a` and one of `b` in which that of `a` is higher, ties counting half
  double p = 1;  ///< of a U as far from its mean, if they do
  bool exact = false;
};
/// From all orders of the values where there are no ties and both samples have fewer than 50 (the rule of R's
/// wilcox.test); else from the normal distribution with corrections for ties and continuity (Lehmann 1975, 1.3 and
/// 1.4). scipy: mannwhitneyu. Swapping the samples leaves p as it is. O((n + m) n^2 m) at most.
MannWhitney mann_whitney(std::span<const double> a, std::span<const double> b);
/// The smallest p that `n` values on either side can give: 2 / C(2n, n), all of one side being below the other's.
double smallest_mann_whitney_p(int n);

/// Percentile bootstrap interval of the ratio median(b) / median(a) of two independent samples of positive values
/// (Efron and Tibshirani 1993, 8.3 and 13.3): [lo, hi] that holds `confidence` of the ratios of `resamples` (even)
/// pairs of samples drawn with replacement, each from its own. Deterministic for a seed; swapping the samples gives [1
/// / hi, 1 / lo] but for rounding. With few values it is no wider than [min(b) / max(a), max(b) / min(a)]: of normal
/// logarithms, 95 % hold the ratio in 92 to 93 % of trials with three or four values a side, in 96 to 98 % with five to
/// twenty. O(resamples x values).
std::pair<double, double> bootstrap_median_ratio(std::span<const double> a, std::span<const double> b,
                                                 double confidence = 0.95, int resamples = 2000,
                                                 std::uint64_t seed = 1);

/// Percentile bootstrap interval of the median of the pooled values (Efron 1979): [lo, hi] that holds `confidence` of
/// the medians of `resamples` samples drawn with replacement. Values of one group depend on each other (steps of one
/// launch), so several groups are drawn as wholes; the values of a single group are drawn one by one.
/// Of few groups it is too narrow: in simulations with normal values, 95 % hold the true median in 74 % of trials with
/// three groups, 87 % with four, 93 to 95 % with five to twenty; stopping by it (--until-interval) takes some more off,
/// since a narrow interval by chance ends the series. Deterministic for a seed. O(resamples x values).
std::pair<double, double> bootstrap_median(std::span<const std::vector<double>> groups, double confidence = 0.95,
                                           int resamples = 2000, std::uint64_t seed = 1);
/// The same of the mean of independent values, which are drawn one by one.
std::pair<double, double> bootstrap_mean(std::span<const double> values, double confidence = 0.95, int resamples = 2000,
                                         std::uint64_t seed = 1);

}  // namespace parabench
