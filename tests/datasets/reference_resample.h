// The definition of resample() written down directly, in double precision and without separating the axes.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "datasets/cut.h"
#include "datasets/jpeg.h"
#include "datasets/normalise.h"

namespace parabench::datasets {

inline std::vector<double> reference_resample(const PixelWindow& image, const Cut& cut, int pixels,
                                              const Normalisation& normalisation) {
  const double x_scale = cut.width() / pixels, y_scale = cut.height() / pixels;
  const auto triangle = [](double distance, double scale) {
    return std::max(0.0, 1 - std::abs(distance) / std::max(scale, 1.0));
  };
  std::vector<double> out(static_cast<std::size_t>(3 * pixels * pixels));
  for (int y = 0; y < pixels; ++y) {
    for (int x = 0; x < pixels; ++x) {
      const double cx = cut.left + (x + 0.5) * x_scale, cy = cut.top + (y + 0.5) * y_scale;
      const int near_x = static_cast<int>(std::max(1.0, x_scale)) + 2,
                near_y = static_cast<int>(std::max(1.0, y_scale)) + 2;
      double sum[3] = {}, weights = 0;
      for (int j = std::max(cut.limits.top, int(cy) - near_y); j < std::min(cut.limits.bottom, int(cy) + near_y); ++j) {
        for (int i = std::max(cut.limits.left, int(cx) - near_x); i < std::min(cut.limits.right, int(cx) + near_x);
             ++i) {
          const double weight = triangle(i + 0.5 - cx, x_scale) * triangle(j + 0.5 - cy, y_scale);
          weights += weight;
          for (int c = 0; c < 3; ++c) sum[c] += weight * image.row(j)[4 * (i - image.area.left) + c];
        }
      }
      for (std::size_t c = 0; c < 3; ++c) {
        const int column = cut.flip ? pixels - 1 - x : x;
        out[(c * static_cast<std::size_t>(pixels) + static_cast<std::size_t>(y)) * static_cast<std::size_t>(pixels) +
            static_cast<std::size_t>(column)] =
            (sum[c] / weights / 255 - double(normalisation.mean[c])) / double(normalisation.deviation[c]);
      }
    }
  }
  return out;
}

}  // namespace parabench::datasets
