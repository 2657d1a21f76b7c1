#include "analytic/calibration/launches_behind.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

#include "base/statistics.h"

namespace parabench::analytic {
namespace {

/// nullptr: not measured.
const LayerTiming* find_row(const Calibration& calibration, const LayerRow& row) {
  const auto found = calibration.layers.find(row.first);
  if (found == calibration.layers.end()) return nullptr;
  const auto timing = std::ranges::find(found->second, row.second, &LayerTiming::samples);
  return timing == found->second.end() ? nullptr : &*timing;
}

double seconds_of(const LayerTiming& timing) { return timing.forward_s + timing.backward_s; }

/// Of the values of at least two launches.
double relative_deviation(const std::vector<double>& values) { return standard_deviation(values) / median(values); }

/// Seconds of all rows together; nullopt where the launch did not measure one of them.
std::optional<double> seconds_of(const Calibration& launch, const std::vector<LayerRow>& rows) {
  double sum = 0;
  for (const LayerRow& row : rows) {
    const LayerTiming* timing = find_row(launch, row);
    if (!timing) return std::nullopt;
    sum += seconds_of(*timing);
  }
  return sum;
}

/// Of the launches of so many ranks that measured a row, and have a canary; nullopt without one.
std::optional<double> matrix_product(const Calibration& calibration, const LayerRow& row, int ranks) {
  std::vector<double> canaries;
  for (const Calibration& launch : launches_in(calibration)) {
    if (!find_row(launch, row)) continue;
    if (!launch.canary || launch.ranks != ranks) continue;
    canaries.push_back(launch.canary->matrix_product_s);
  }
  return canaries.empty() ? std::nullopt : std::optional(median(canaries));
}

}  // namespace

std::vector<LayerRow> layer_rows(const Calibration& calibration, const Sizes& sizes, const plan::Plan& plan) {
  int largest = 0;
  for (const auto& replica : plan.pieces) largest = std::max(largest, std::ranges::max(replica));
  const int busy = competing_ranks(plan.spec, plan.placement);
  std::vector<LayerRow> rows;
  for (int l = 0; l < std::ssize(sizes.model().layers); ++l) {
    const auto found = calibration.layers.find(layer_key(sizes.signature(l), l == 0, plan.spec, busy));
    if (found == calibration.layers.end()) return {};
    const LayerTiming& nearest = *std::ranges::min_element(
        found->second, {}, [&](const LayerTiming& t) { return std::abs(t.samples - largest); });
    rows.emplace_back(found->first, nearest.samples);
  }
  return rows;
}

std::optional<LaunchesBehind> launches_behind(const Calibration& calibration, const std::vector<LayerRow>& rows) {
  std::vector<int> times(rows.size());
  std::vector<std::string> dates;
  std::vector<double> sums;
  for (const Calibration& launch : launches_in(calibration)) {
    bool has_any = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool has = find_row(launch, rows[i]) != nullptr;
      times[i] += has;
      has_any |= has;
    }
    if (has_any) dates.push_back(launch.date);
    if (const auto sum = seconds_of(launch, rows); sum && *sum > 0) sums.push_back(*sum);
  }
  if (rows.empty() || std::ranges::min(times) == 0) return std::nullopt;
  const auto [first, last] = std::ranges::minmax(dates);
  return LaunchesBehind{.launches = std::ranges::min(times),
                        .first_date = first,
                        .last_date = last,
                        .spread = sums.size() < 2 ? std::nullopt : std::optional(relative_deviation(sums))};
}

std::optional<double> calibrated_matrix_product(const Calibration& calibration, const std::vector<LayerRow>& rows,
                                                int ranks) {
  double sum = 0, seconds = 0;
  for (const LayerRow& row : rows) {
    const LayerTiming* timing = find_row(calibration, row);
    const auto canary = matrix_product(calibration, row, ranks);
    if (!timing || !canary) return std::nullopt;
    sum += seconds_of(*timing) * *canary;
    seconds += seconds_of(*timing);
  }
  return seconds > 0 ? std::optional(sum / seconds) : std::nullopt;
}

Remeasured remeasured(const Calibration& before, const Calibration& launch) {
  Remeasured result;
  double then = 0, now = 0;
  for (const auto& [key, timings] : launch.layers) {
    for (const LayerTiming& timing : timings) {
      const LayerTiming* known = find_row(before, {key, timing.samples});
      (known ? result.known : result.unknown).emplace_back(key, timing.samples);
      if (!known) continue;
      then += seconds_of(*known);
      now += seconds_of(timing);
    }
  }
  if (then > 0) result.relative = now / then - 1;
  return result;
}

}  // namespace parabench::analytic
