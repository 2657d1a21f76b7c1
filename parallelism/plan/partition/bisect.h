// The smallest number that meets a condition which every larger one meets too.
#pragma once

#include <bit>
#include <cstdint>

namespace parabench::plan {

/// Smallest n in [low, high] with holds(n). Precondition: holds(high).
template <class Holds>
std::int64_t smallest(std::int64_t low, std::int64_t high, Holds holds) {
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

/// Smallest double x in [0, high] with holds(x), exact to the last bit: doubles >= 0 are ordered as their bits are,
/// so that 63 questions are enough. Precondition: holds(high); infinity is allowed.
template <class Holds>
double smallest_double(double high, Holds holds) {
  return std::bit_cast<double>(smallest(0, std::bit_cast<std::int64_t>(high),
                                        [&](std::int64_t bits) { return holds(std::bit_cast<double>(bits)); }));
}

}  // namespace parabench::plan
