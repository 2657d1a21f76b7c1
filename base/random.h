// Counter-based random numbers: element `index` of a stream is a pure function of (seed, stream, index), so any rank
// draws any element without drawing the ones before it. A stream is splitmix64 (Steele, Lea, Flood, OOPSLA'14) by
// random access.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "base/hash.h"

namespace parabench {

/// splitmix64's output function: a bijection of 64 bits in which each input bit flips half of the output bits.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// The stream of a name, for example of a parameter tensor.
constexpr std::uint64_t hash_name(std::string_view name) { return fnv1a64(name); }

/// 64 random bits. A loop over `index` hoists the two mixes of (seed, stream).
constexpr std::uint64_t counter_hash(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return mix64(mix64(mix64(stream + 0x9e3779b97f4a7c15ULL) ^ seed) + (index + 1) * 0x9e3779b97f4a7c15ULL);
}

/// Uniform in [0, 1), 53 bits.
constexpr double counter_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return static_cast<double>(counter_hash(seed, stream, index) >> 11) * 0x1p-53;
}

/// Standard normal (Box-Muller on elements 2 index and 2 index + 1 of the stream).
inline double counter_normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const double radius = std::sqrt(-2.0 * std::log1p(-counter_uniform(seed, stream, 2 * index)));
  return radius * std::cos(2.0 * std::numbers::pi * counter_uniform(seed, stream, 2 * index + 1));
}

}  // namespace parabench
