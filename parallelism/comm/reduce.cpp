#include "parallelism/comm/reduce.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace parabench {
namespace {

constexpr std::int64_t line = 64;

/// One pass that keeps nothing: as fast as the memory for up to four buffers; with more, the compiler runs out
/// of registers.
template <class T, std::size_t count>
void sum_few(std::span<std::byte* const> buffers, Share part) {
  std::array<T*, count> data;
  for (std::size_t k = 0; k < count; ++k) data[k] = reinterpret_cast<T*>(buffers[k] + part.begin);
  const std::int64_t n = part.bytes() / static_cast<std::int64_t>(sizeof(T));
#pragma GCC ivdep  // the buffers of different ranks do not overlap
  for (std::int64_t i = 0; i < n; ++i) {
    T sum = data[0][i];
    for (std::size_t k = 1; k < count; ++k) sum += data[k][i];
    for (std::size_t k = 0; k < count; ++k) data[k][i] = sum;
  }
}

/// Block by block; the sums of a block stay in the first-level cache until they are written back.
template <class T>
void sum_many(std::span<std::byte* const> buffers, Share part) {
  constexpr std::int64_t block = 8192 / sizeof(T);
  alignas(line) T sums[block];
  const std::int64_t n = part.bytes() / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t begin = 0; begin < n; begin += block) {
    const std::int64_t m = std::min(block, n - begin);
    const auto data = [&](std::size_t k) { return reinterpret_cast<T*>(buffers[k] + part.begin) + begin; };
    std::memcpy(sums, data(0), m * sizeof(T));
    for (std::size_t k = 1; k < buffers.size(); ++k) {
      const T* const other = data(k);
      for (std::int64_t i = 0; i < m; ++i) sums[i] += other[i];
    }
    for (std::size_t k = 0; k < buffers.size(); ++k) std::memcpy(data(k), sums, m * sizeof(T));
  }
}

template <class T>
void sum(std::span<std::byte* const> buffers, Share part) {
  switch (buffers.size()) {
    case 0:
    case 1: return;
    case 2: return sum_few<T, 2>(buffers, part);
    case 3: return sum_few<T, 3>(buffers, part);
    case 4: return sum_few<T, 4>(buffers, part);
    default: return sum_many<T>(buffers, part);
  }
}

}  // namespace

Share share_of(std::int64_t bytes, int members, int position) {
  const std::int64_t lines = (bytes + line - 1) / line;
  const auto bound = [&](int p) { return std::min(lines * p / members * line, bytes); };
  return {bound(position), bound(position + 1)};
}

void sum_in_place(std::span<std::byte* const> buffers, Share part, ElementType type) {
  if (type == ElementType::f64) {
    sum<double>(buffers, part);
  } else {
    sum<float>(buffers, part);
  }
}

}  // namespace parabench
