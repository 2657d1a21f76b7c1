#include "results/drift.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/statistics.h"
#include "results/summary.h"

namespace parabench::results {
namespace {

constexpr double largest_exponent = 2;

/// A case as the fit sees it.
struct Point {
  double drift = 0;
  double missing = 0;  ///< ln(measured / predicted)
};

std::optional<Point> point_of(const Record& record) {
  const auto by = drift(record);
  if (!by) return std::nullopt;
  const double missing = std::log(record.measured->step_time_s.median / record.predicted->step_time_s);
  return std::isfinite(missing) ? std::optional(Point{*by, missing}) : std::nullopt;
}

/// Over points.
struct Sums {
  int points = 0;
  double drift = 0, squares = 0, products = 0;

  void add(const Point& point, int times) {
    points += times;
    drift += times * point.drift;
    squares += times * point.drift * point.drift;
    products += times * point.drift * point.missing;
  }
};

std::optional<double> fit_exponent(const Sums& others) {
  if (others.points < fewest_drifts) return std::nullopt;
  const double mean = others.drift / others.points;
  const double variance = others.squares / others.points - mean * mean;
  if (!(variance >= least_drift_deviation * least_drift_deviation)) return std::nullopt;
  return std::clamp(others.products / others.squares, 0.0, largest_exponent);
}

}  // namespace

std::optional<double> drift(const Record& record) {
  if (!record.measured || !record.predicted || !record.predicted->canary_matrix_product_s) return std::nullopt;
  std::vector<double> launches;
  for (const Canary& canary : record.measured->canaries) launches.push_back(canary.matrix_product_s);
  if (launches.empty()) return std::nullopt;
  const double ratio = std::log(median(launches) / *record.predicted->canary_matrix_product_s);
  return std::abs(ratio) <= std::log(largest_drift) ? std::optional(ratio) : std::nullopt;
}

void fill_adjusted_errors(std::span<Record> records) {
  std::vector<std::optional<Point>> points;
  Sums all;
  for (const Record& record : records) {
    points.push_back(point_of(record));
    if (points.back() && counts(record)) all.add(*points.back(), 1);
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto& error = records[i].error;
    if (!error) continue;
    error->adjusted.reset();
    if (!points[i]) continue;
    Sums others = all;
    if (counts(records[i])) others.add(*points[i], -1);
    if (const auto exponent = fit_exponent(others))
      error->adjusted = AdjustedError{std::expm1(*exponent * points[i]->drift - points[i]->missing), *exponent};
  }
}

}  // namespace parabench::results
