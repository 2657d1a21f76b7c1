// Random numbers of one purpose, the same on every rank and thread.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace parabench::datasets {

/// What a stream of random numbers is for; keeps streams of equal keys apart.
enum class DrawPurpose : std::uint64_t {
  order = 1,
  augmentation,
  synthetic_label,
  synthetic_pixels,
  synthetic_tokens,
  synthetic_mask
};

/// The stream of (seed, purpose, a, b): draw i is a pure function of the key and i. Cheap to make; not shared
/// between threads.
class Draws {
 public:
  constexpr Draws(std::uint64_t seed, DrawPurpose purpose, std::int64_t a, std::int64_t b = 0)
      : key_(counter_hash(seed, static_cast<std::uint64_t>(purpose), static_cast<std::uint64_t>(a))),
        stream_(static_cast<std::uint64_t>(b)) {}

  constexpr std::uint64_t bits() { return counter_hash(key_, stream_, counter_++); }

  /// Uniform in [low, high).
  constexpr double uniform(double low = 0, double high = 1) {
    return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53);
  }

  /// Uniform in 0, ..., n - 1; a value's probability is off by at most 2^-64.
  constexpr std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>((static_cast<unsigned __int128>(bits()) * static_cast<std::uint64_t>(n)) >> 64);
  }

 private:
  std::uint64_t key_, stream_;
  std::uint64_t counter_ = 0;
};

}  // namespace parabench::datasets
