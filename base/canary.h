// What a launch that times something tells of the machine under it.
#pragma once

#include <cstdint>
#include <optional>

namespace parabench {

/// Times are those of the slowest rank, the mean of before and after the launch's work (of the product also between
/// parts of it, where the launch does that); the rest is what came about in between.
struct Canary {
  double matrix_product_s = 0;        ///< of a product of matrices that stay in the cache
  double triad_s = 0;                 ///< of a = b + s c over arrays that no cache holds
  std::optional<double> steal_share;  ///< of the core time of a host, the largest over hosts; nullopt: it tells none
  std::int64_t involuntary_switches = 0;  ///< of all ranks' processes
  /// The slowest of the product's times over the fastest one on the same rank, the largest over ranks; nullopt: kept by
  /// a version that did not tell. What shares a core's units, as a thread beside it does, shows here and in no steal.
  std::optional<double> matrix_product_spread = {};
  bool operator==(const Canary&) const = default;
};

/// As a factor between two canaries of one machine: neighbours have slowed two cores by 1.6 for seconds. A machine that
/// slows down by more does so for a moment, and one of the two was timed in it.
inline constexpr double largest_drift = 2;

/// Cores from which a hypervisor keeps more of their time are slower by more than largest_drift, in the mean over them.
inline constexpr double largest_steal_share = 1 - 1 / largest_drift;

}  // namespace parabench
