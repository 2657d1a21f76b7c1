#include "datasets/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace parabench::datasets {
namespace {

/// The input pixels and their weights for each output of one axis.
struct Taps {
  struct Run {
    int first, count;
    std::size_t weights;  // where the run's weights start
  };
  std::vector<Run> runs;
  std::vector<float> weights;
};

Taps triangle_taps(double begin, double end, int low, int high, int outputs) {
  const double scale = (end - begin) / outputs, reach = std::max(scale, 1.0);
  Taps taps;
  taps.runs.reserve(static_cast<std::size_t>(outputs));
  taps.weights.reserve(static_cast<std::size_t>(outputs) * static_cast<std::size_t>(2 * reach + 2));
  for (int i = 0; i < outputs; ++i) {
    const double centre = begin + (i + 0.5) * scale;
    const int first = std::max(low, static_cast<int>(std::floor(centre - reach + 0.5)));
    const int last = std::min(high, static_cast<int>(std::floor(centre + reach + 0.5)));
    const std::size_t start = taps.weights.size();
    double sum = 0;
    for (int j = first; j < last; ++j) {
      const double weight = std::max(0.0, 1 - std::abs(j + 0.5 - centre) / reach);
      taps.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (std::size_t k = start; k < taps.weights.size(); ++k) taps.weights[k] /= static_cast<float>(sum);
    taps.runs.push_back({first, last - first, start});
  }
  return taps;
}

/// Four floats in one register: a pixel.
using Pixel [[gnu::vector_size(16)]] = float;

Pixel weighted_sum(const float* pixels, const float* weights, int count) {
  Pixel sum{};
  for (int k = 0; k < count; ++k) {
    Pixel pixel;
    std::memcpy(&pixel, pixels + 4 * k, sizeof pixel);
    sum += pixel * weights[k];
  }
  return sum;
}

}  // namespace

void resample(const PixelWindow& window, const Cut& cut, int pixels, const Normalisation& normalisation,
              std::span<float> out) {
  const Taps rows = triangle_taps(cut.top, cut.bottom, cut.limits.top, cut.limits.bottom, pixels);
  const Taps columns = triangle_taps(cut.left, cut.right, cut.limits.left, cut.limits.right, pixels);
  const auto plane = static_cast<std::size_t>(pixels) * static_cast<std::size_t>(pixels);
  const auto row_values = std::size_t{4} * static_cast<std::size_t>(window.area.width());
  std::vector<float> mixed(row_values);

  for (int y = 0; y < pixels; ++y) {
    // Rows first: this loop runs over whole rows of bytes and vectorises; what is left for the columns is few
    // pixels.
    const Taps::Run& run = rows.runs[static_cast<std::size_t>(y)];
    std::ranges::fill(mixed, 0.0F);
    for (int k = 0; k < run.count; ++k) {
      const float weight = rows.weights[run.weights + static_cast<std::size_t>(k)];
      const std::uint8_t* in = window.row(run.first + k);
      for (std::size_t x = 0; x < row_values; ++x) mixed[x] += weight * static_cast<float>(in[x]);
    }

    const Pixel scale{normalisation.scale(0), normalisation.scale(1), normalisation.scale(2), 0};
    const Pixel offset{normalisation.offset(0), normalisation.offset(1), normalisation.offset(2), 0};
    float* const line = out.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(pixels);
    for (int x = 0; x < pixels; ++x) {
      const Taps::Run& taps = columns.runs[static_cast<std::size_t>(x)];
      const float* first = mixed.data() + 4 * (taps.first - window.area.left);
      const Pixel value = weighted_sum(first, columns.weights.data() + taps.weights, taps.count) * scale + offset;
      float* const target = line + (cut.flip ? pixels - 1 - x : x);
      target[0] = value[0];
      target[plane] = value[1];
      target[2 * plane] = value[2];
    }
  }
}

}  // namespace parabench::datasets
