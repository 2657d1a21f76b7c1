#include "analytic/costs/interpolate.h"

#include <algorithm>

namespace parabench::analytic {
namespace {

double on_line(double x0, double y0, double x1, double y1, double x) { return y0 + (y1 - y0) * (x - x0) / (x1 - x0); }

/// t_floor + samples t_sample.
struct Line {
  double floor = 0, per_sample = 0;
  double at(int samples) const { return floor + per_sample * samples; }
};

/// Through the origin or flat where the closest one would fall below it.
Line closest_line(std::span<const LayerTiming> timings, double (*value)(const LayerTiming&)) {
  double weights = 0, samples = 0, values = 0, of_squares = 0, products = 0;
  for (const LayerTiming& t : timings) {
    const double weight = 1 / (value(t) * value(t));
    weights += weight;
    samples += weight * t.samples;
    values += weight * value(t);
    of_squares += weight * t.samples * t.samples;
    products += weight * t.samples * value(t);
  }
  const double slope = (weights * products - samples * values) / (weights * of_squares - samples * samples);
  if (slope <= 0) return {.floor = values / weights};
  const double floor = (values - slope * samples) / weights;
  return floor > 0 ? Line{floor, slope} : Line{.per_sample = products / of_squares};
}

}  // namespace

double counted_at(std::span<const LayerTiming> timings, int samples, double (*value)(const LayerTiming&)) {
  const LayerTiming& smallest = timings.front();
  const double proportional = value(smallest) * samples / smallest.samples;
  if (timings.size() == 1) return proportional;
  const auto above = std::ranges::lower_bound(timings, samples, {}, &LayerTiming::samples);
  const auto hi = std::clamp<std::ptrdiff_t>(above - timings.begin(), 1, std::ssize(timings) - 1);
  const LayerTiming &a = timings[hi - 1], &b = timings[hi];
  const double line = on_line(a.samples, value(a), b.samples, value(b), samples);
  return samples < smallest.samples ? std::max(line, proportional) : std::max(line, 0.0);
}

double timed_at(std::span<const LayerTiming> timings, int samples, double (*value)(const LayerTiming&)) {
  const LayerTiming &smallest = timings.front(), &largest = timings.back();
  const LayerTiming& nearest = samples < smallest.samples ? smallest : largest;
  const bool within = smallest.samples <= samples && samples <= largest.samples;
  const auto is_nothing = [&](const LayerTiming& t) { return !(value(t) > 0); };
  if (within || timings.size() == 1 || std::ranges::any_of(timings, is_nothing))
    return counted_at(timings, samples, value);
  const Line line = closest_line(timings, value);
  return value(nearest) * line.at(samples) / line.at(nearest.samples);
}

double at_bytes(const Curve& curve, std::int64_t bytes) {
  const CurvePoint &first = curve.front(), &last = curve.back();
  if (bytes <= first.bytes) return first.seconds;
  if (bytes > last.bytes) {
    return last.seconds * static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(last.bytes, 1));
  }
  const auto b = std::ranges::lower_bound(curve, bytes, {}, &CurvePoint::bytes);
  const auto a = b - 1;
  return on_line(static_cast<double>(a->bytes), a->seconds, static_cast<double>(b->bytes), b->seconds,
                 static_cast<double>(bytes));
}

}  // namespace parabench::analytic
