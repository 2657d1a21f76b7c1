#include "datasets/cut.h"

#include <algorithm>
#include <cmath>

namespace parabench::datasets {
namespace {

constexpr double least_area = 0.08, least_ratio = 3.0 / 4, greatest_ratio = 4.0 / 3;

/// Halves go to the even neighbour, as in Python.
int rounded(double value) { return static_cast<int>(std::nearbyint(value)); }

Cut exactly(Rect box, bool flip) {
  return {double(box.left), double(box.top), double(box.right), double(box.bottom), box, flip};
}

Rect random_box(int width, int height, Draws& draws) {
  constexpr int tries = 10;
  for (int i = 0; i < tries; ++i) {
    const double area = double(width) * height * draws.uniform(least_area, 1);
    const double ratio = std::exp(draws.uniform(std::log(least_ratio), std::log(greatest_ratio)));
    const int w = rounded(std::sqrt(area * ratio)), h = rounded(std::sqrt(area / ratio));
    if (0 < w && w <= width && 0 < h && h <= height) {
      const int top = static_cast<int>(draws.below(height - h + 1));
      const int left = static_cast<int>(draws.below(width - w + 1));
      return {left, top, left + w, top + h};
    }
  }
  const double ratio = double(width) / height;
  const int w = ratio > greatest_ratio ? rounded(height * greatest_ratio) : width;
  const int h = ratio < least_ratio ? rounded(width / least_ratio) : height;
  const int left = (width - w) / 2, top = (height - h) / 2;
  return {left, top, left + w, top + h};
}

}  // namespace

Cut random_cut(int width, int height, Draws draws) {
  const Rect box = random_box(width, height, draws);
  return exactly(box, draws.below(2) == 1);
}

Cut centre_cut(int width, int height, int pixels) {
  const int shorter = pixels * 8 / 7;
  const int resized_width = width <= height ? shorter : static_cast<int>(std::int64_t{shorter} * width / height);
  const int resized_height = width <= height ? static_cast<int>(std::int64_t{shorter} * height / width) : shorter;
  const double x_scale = double(width) / resized_width, y_scale = double(height) / resized_height;
  const int left = rounded((resized_width - pixels) / 2.0), top = rounded((resized_height - pixels) / 2.0);
  return {left * x_scale, top * y_scale, (left + pixels) * x_scale, (top + pixels) * y_scale, {0, 0, width, height}};
}

int decode_denominator(const Cut& cut, int pixels) {
  int denominator = 8;
  while (denominator > 1 && std::min(cut.width(), cut.height()) < double(denominator) * pixels) denominator /= 2;
  return denominator;
}

Cut reduced(const Cut& cut, int denominator) {
  const double d = denominator;
  const auto up = [&](int value) { return (value + denominator - 1) / denominator; };
  return {cut.left / d,
          cut.top / d,
          cut.right / d,
          cut.bottom / d,
          {cut.limits.left / denominator, cut.limits.top / denominator, up(cut.limits.right), up(cut.limits.bottom)},
          cut.flip};
}

Rect footprint(const Cut& cut, int pixels) {
  const double x_reach = std::max(cut.width() / pixels, 1.0), y_reach = std::max(cut.height() / pixels, 1.0);
  return {std::max(cut.limits.left, static_cast<int>(std::floor(cut.left - x_reach))),
          std::max(cut.limits.top, static_cast<int>(std::floor(cut.top - y_reach))),
          std::min(cut.limits.right, static_cast<int>(std::ceil(cut.right + x_reach))),
          std::min(cut.limits.bottom, static_cast<int>(std::ceil(cut.bottom + y_reach)))};
}

}  // namespace parabench::datasets
