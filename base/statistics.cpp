#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/random.h"

namespace parabench {
namespace {

void require_values(bool any) {
  if (!any) throw std::invalid_argument("statistics of no values");
}

/// As quantile(), reordering `values` instead of copying them. O(n).
double take_quantile(std::vector<double>& values, double p) {
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), nth, values.end());
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0) return *nth;
  const double above = *std::min_element(nth + 1, values.end());
  return *nth + fraction * (above - *nth);
}

}  // namespace

double quantile(std::span<const double> values, double p) {
  require_values(!values.empty());
  std::vector<double> copy(values.begin(), values.end());
  return take_quantile(copy, p);
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

double mad(std::span<const double> values) {
  const double centre = median(values);
  std::vector<double> deviations(values.size());
  std::ranges::transform(values, deviations.begin(), [centre](double x) { return std::abs(x - centre); });
  return take_quantile(deviations, 0.5);
}

double mean(std::span<const double> values) {
  require_values(!values.empty());
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

std::pair<double, double> bootstrap_median(std::span<const std::vector<double>> groups, double confidence,
                                           int resamples, std::uint64_t seed) {
  require_values(std::ranges::any_of(groups, [](const auto& group) { return !group.empty(); }));
  std::uint64_t drawn = 0;
  const auto draw = [&](std::size_t size) {
    return static_cast<std::size_t>(counter_uniform(seed, hash_name("bootstrap"), drawn++) * static_cast<double>(size));
  };
  std::vector<double> medians, sample;
  medians.reserve(static_cast<std::size_t>(resamples));
  while (medians.size() < static_cast<std::size_t>(resamples)) {
    sample.clear();
    if (groups.size() == 1) {
      const std::vector<double>& only = groups.front();
      for (std::size_t i = 0; i < only.size(); ++i) sample.push_back(only[draw(only.size())]);
    } else {
      for (std::size_t i = 0; i < groups.size(); ++i) {
        const std::vector<double>& group = groups[draw(groups.size())];
        sample.insert(sample.end(), group.begin(), group.end());
      }
    }
    // Only empty groups were drawn: draw again.
    if (!sample.empty()) medians.push_back(take_quantile(sample, 0.5));
  }
  const double tail = (1 - confidence) / 2;
  return {quantile(medians, tail), quantile(medians, 1 - tail)};
}

}  // namespace parabench
