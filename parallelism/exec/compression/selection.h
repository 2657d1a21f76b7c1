// Which values of a gradient top-k sends.
#pragma once

#include <cstdint>
#include <span>

namespace parabench::exec {

/// Moves the `kept` values of the largest magnitude, where these are equal those that lie first, to `chosen`, by rising
/// place, and leaves zeros there; `places` are counted from `first` on. What is no number counts as the largest.
/// `magnitudes`: room for as many values. O(n) on the average. T: float, double.
template <class T>
void take_largest(std::span<T> values, std::span<T> magnitudes, std::int64_t first, std::span<T> chosen,
                  std::span<std::int32_t> places);

}  // namespace parabench::exec
