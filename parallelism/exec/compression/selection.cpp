#include "parallelism/exec/compression/selection.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace parabench::exec {

template <class T>
void take_largest(std::span<T> values, std::span<T> magnitudes, std::int64_t first, std::span<T> chosen,
                  std::span<std::int32_t> places) {
  const auto magnitude = [](T value) {
    return std::isnan(value) ? std::numeric_limits<T>::infinity() : std::abs(value);
  };
  std::ranges::transform(values, magnitudes.begin(), magnitude);
  const auto last = magnitudes.begin() + std::ssize(chosen) - 1;
  std::ranges::nth_element(magnitudes, last, std::greater{});
  const T least = *last;
  // Before it lie those that are larger, and as many of its size as there is room for.
  std::int64_t equal = std::count(magnitudes.begin(), last + 1, least);
  std::size_t taken = 0;
  for (std::int64_t i = 0; i < std::ssize(values) && taken < chosen.size(); ++i) {
    const T own = magnitude(values[i]);
    if (own < least || (own == least && equal-- <= 0)) continue;
    chosen[taken] = values[i];
    places[taken++] = static_cast<std::int32_t>(first + i);
    values[i] = 0;
  }
}

template void take_largest(std::span<float>, std::span<float>, std::int64_t, std::span<float>, std::span<std::int32_t>);
template void take_largest(std::span<double>, std::span<double>, std::int64_t, std::span<double>,
                           std::span<std::int32_t>);

}  // namespace parabench::exec
