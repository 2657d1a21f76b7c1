#include "analytic/costs/interpolate.h"

#include <algorithm>

namespace parabench::analytic {
namespace {

double on_line(double x0, double y0, double x1, double y1, double x) { return y0 + (y1 - y0) * (x - x0) / (x1 - x0); }

}  // namespace

double at_samples(std::span<const LayerTiming> timings, int samples, double (*value)(const LayerTiming&)) {
  const LayerTiming& smallest = timings.front();
  const double proportional = value(smallest) * samples / smallest.samples;
  if (timings.size() == 1) return proportional;
  const auto above = std::ranges::lower_bound(timings, samples, {}, &LayerTiming::samples);
  const auto hi = std::clamp<std::ptrdiff_t>(above - timings.begin(), 1, std::ssize(timings) - 1);
  const LayerTiming &a = timings[hi - 1], &b = timings[hi];
  const double line = on_line(a.samples, value(a), b.samples, value(b), samples);
  return samples < smallest.samples ? std::max(line, proportional) : std::max(line, 0.0);
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
