#include "parallelism/comm/reduce.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "parallelism/comm/bf16.h"

namespace parabench::comm {
namespace {

/// Where the sums go: to all buffers, or to one place.
enum class Target { all, one };

/// What values are added up in.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, Bf16>, float, T>;

/// One pass that keeps nothing: as fast as the memory for up to four buffers; with more, the compiler runs out
/// of registers.
template <Target target, class T, std::size_t count>
void sum_few(std::byte* to, std::span<std::byte* const> buffers, Share part) {
  std::array<T*, count> data;
  for (std::size_t k = 0; k < count; ++k) data[k] = reinterpret_cast<T*>(buffers[k] + part.begin);
  T* const one = target == Target::one ? reinterpret_cast<T*>(to + part.begin) : nullptr;
  const std::int64_t n = part.bytes() / static_cast<std::int64_t>(sizeof(T));
#pragma GCC ivdep  // the buffers of different ranks do not overlap
  for (std::int64_t i = 0; i < n; ++i) {
    Sum<T> sum = data[0][i];
    for (std::size_t k = 1; k < count; ++k) sum += data[k][i];
    if constexpr (target == Target::one) {
      one[i] = sum;
    } else {
      for (std::size_t k = 0; k < count; ++k) data[k][i] = sum;
    }
  }
}

/// Block by block; the sums of a block stay in the first-level cache until they are written back.
template <Target target, class T>
void sum_many(std::byte* to, std::span<std::byte* const> buffers, Share part) {
  constexpr std::int64_t block = 8192 / sizeof(Sum<T>);
  alignas(64) Sum<T> sums[block];
  const std::int64_t n = part.bytes() / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t begin = 0; begin < n; begin += block) {
    const std::int64_t m = std::min(block, n - begin);
    const auto at = [&](std::byte* buffer) { return reinterpret_cast<T*>(buffer + part.begin) + begin; };
    std::copy_n(at(buffers[0]), m, sums);
    for (std::size_t k = 1; k < buffers.size(); ++k) {
      const T* const other = at(buffers[k]);
      for (std::int64_t i = 0; i < m; ++i) sums[i] += other[i];
    }
    if constexpr (target == Target::one) {
      std::copy_n(sums, m, at(to));
    } else {
      for (std::byte* const buffer : buffers) std::copy_n(sums, m, at(buffer));
    }
  }
}

template <Target target, class T>
void sum(std::byte* to, std::span<std::byte* const> buffers, Share part) {
  switch (buffers.size()) {
    case 2: return sum_few<target, T, 2>(to, buffers, part);
    case 3: return sum_few<target, T, 3>(to, buffers, part);
    case 4: return sum_few<target, T, 4>(to, buffers, part);
    default: return sum_many<target, T>(to, buffers, part);
  }
}

template <Target target>
void sum(std::byte* to, std::span<std::byte* const> buffers, Share part, ElementType type) {
  switch (type) {
    case ElementType::f64: return sum<target, double>(to, buffers, part);
    case ElementType::bf16: return sum<target, Bf16>(to, buffers, part);
    case ElementType::f32:
    case ElementType::byte: return sum<target, float>(to, buffers, part);
  }
}

}  // namespace

void sum_in_place(std::span<std::byte* const> buffers, Share part, ElementType type) {
  if (buffers.size() > 1) sum<Target::all>(nullptr, buffers, part, type);
}

void sum_into(std::byte* to, std::span<std::byte* const> buffers, Share part, ElementType type) {
  if (buffers.size() > 1) return sum<Target::one>(to, buffers, part, type);
  if (buffers.empty() || part.bytes() == 0 || to == buffers[0]) return;
  std::memcpy(to + part.begin, buffers[0] + part.begin, static_cast<std::size_t>(part.bytes()));
}

}  // namespace parabench::comm
