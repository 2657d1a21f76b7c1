// Errors over cases in figures, and how much of those is by the choice of cases.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "results/accuracy.h"

namespace parabench::results {

/// Of one kind of error over cases; of absolute values but for the ratio.
struct ErrorFigures {
  int cases = 0;
  double mean = 0, median = 0, p90 = 0, max = 0;
  double median_ratio = 1;  ///< median of predicted / measured
};
/// Zeros without errors. O(n log n).
ErrorFigures figures_of(std::span<const double> errors);

/// Ends between which 95 % lie.
using Interval = std::pair<double, double>;

/// Values below which there is no interval: bootstrapped over fewer it is much too narrow (base/statistics.h).
inline constexpr std::size_t fewest_bootstrapped = 5;

/// Percentile bootstrap of the mean of one value for each case, or group of cases: the values are drawn with
/// replacement. Each stands for all launches of its case, which are so drawn together. Deterministic. nullopt of fewer
/// than fewest_bootstrapped.
std::optional<Interval> mean_interval(std::span<const double> values);
/// The same of their median.
std::optional<Interval> median_interval(const std::vector<double>& values);

/// What is judged of a case, in the order in which it is shown.
struct ErrorKind {
  std::string_view name;
  std::optional<double> (*of)(const JudgedCase& one);
  bool has_ratio = true;  ///< of predicted / measured; noise is no prediction
};
std::span<const ErrorKind> error_kinds();

/// What a member of cases, or a function of them, says, of those of which it is known.
template <class Of>
std::vector<double> errors_of(std::span<const JudgedCase> cases, Of of) {
  std::vector<double> errors;
  for (const JudgedCase& one : cases)
    if (const std::optional<double> error = std::invoke(of, one); error && std::isfinite(*error))
      errors.push_back(*error);
  return errors;
}

/// Of one kind of error.
struct KindFigures {
  std::string_view name;
  bool has_ratio = true;
  ErrorFigures figures;
  std::optional<Interval> mean_ci95, median_ratio_ci95;
};
/// Of each kind that is known of any case. O(cases x kinds x resamples).
std::vector<KindFigures> figures_by_kind(std::span<const JudgedCase> cases);

}  // namespace parabench::results
