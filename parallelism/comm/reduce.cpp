#include "parallelism/comm/reduce.h"

#include <algorithm>
#include <cstring>

namespace parabench {
namespace {

constexpr std::int64_t line = 64;

/// Elements that are summed before they are written back; the sums stay in the first-level cache.
constexpr std::int64_t block_bytes = 8 << 10;

template <class T>
void sum_two(T* __restrict a, T* __restrict b, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) a[i] = b[i] = a[i] + b[i];
}

template <class T>
void sum_many(std::span<std::byte* const> buffers, std::int64_t begin, std::int64_t n) {
  alignas(line) T sums[block_bytes / sizeof(T)];
  const auto at = [&](std::size_t k) { return reinterpret_cast<T*>(buffers[k] + begin); };
  const T* __restrict first = at(0);
  const T* __restrict second = at(1);
  for (std::int64_t i = 0; i < n; ++i) sums[i] = first[i] + second[i];
  for (std::size_t k = 2; k < buffers.size(); ++k) {
    const T* __restrict next = at(k);
    for (std::int64_t i = 0; i < n; ++i) sums[i] += next[i];
  }
  for (std::size_t k = 0; k < buffers.size(); ++k) std::memcpy(at(k), sums, n * sizeof(T));
}

template <class T>
void sum(std::span<std::byte* const> buffers, Share part) {
  if (buffers.size() == 2) {
    sum_two(reinterpret_cast<T*>(buffers[0] + part.begin), reinterpret_cast<T*>(buffers[1] + part.begin),
            part.bytes() / static_cast<std::int64_t>(sizeof(T)));
    return;
  }
  for (std::int64_t begin = part.begin; begin < part.end; begin += block_bytes) {
    const std::int64_t bytes = std::min(block_bytes, part.end - begin);
    sum_many<T>(buffers, begin, bytes / static_cast<std::int64_t>(sizeof(T)));
  }
}

}  // namespace

Share share_of(std::int64_t bytes, int ranks, Rank rank) {
  const std::int64_t lines = (bytes + line - 1) / line;
  const auto bound = [&](int r) { return std::min(lines * r / ranks * line, bytes); };
  return {bound(rank.value), bound(rank.value + 1)};
}

void sum_in_place(std::span<std::byte* const> buffers, Share part, ElementType type) {
  if (buffers.size() < 2) return;
  if (type == ElementType::f64) {
    sum<double>(buffers, part);
  } else {
    sum<float>(buffers, part);
  }
}

}  // namespace parabench
