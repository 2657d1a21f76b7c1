#include "parallelism/comm/reduce.h"

#include <gtest/gtest.h>

#include <vector>

namespace parabench {
namespace {

TEST(ShareOf, CoversTheBufferInWholeLines) {
  for (int ranks : {1, 2, 3, 4, 7, 64}) {
    for (std::int64_t bytes : {0, 4, 63, 64, 65, 128, 1000, 4096, 100004}) {
      std::int64_t end = 0, least = bytes, most = 0;
      for (int r = 0; r < ranks; ++r) {
        const Share share = share_of(bytes, ranks, r);
        EXPECT_EQ(share.begin, end);
        EXPECT_TRUE(share.begin % 64 == 0 || share.begin == bytes);
        end = share.end;
        least = std::min(least, share.bytes());
        most = std::max(most, share.bytes());
      }
      EXPECT_EQ(end, bytes);
      EXPECT_LE(most - least, 64) << ranks << " ranks, " << bytes << " bytes";
    }
  }
}

TEST(ShareOf, OfAHugeBufferDoesNotOverflow) {
  constexpr std::int64_t huge = std::int64_t{1} << 55;
  EXPECT_EQ(share_of(huge, 64, 63), (Share{huge / 64 * 63, huge}));
}

template <class T>
void expect_sums_in_order(int ranks, std::int64_t n) {
  // 1e8 swallows small numbers in f32: another order of addition would give another sum.
  const auto input = [](int r, std::int64_t i) {
    return static_cast<T>(r == 0 ? 1e8 : 3 + r + i % 5) * (r % 2 ? -1 : 1);
  };
  std::vector<std::vector<T>> data(ranks, std::vector<T>(n));
  std::vector<std::byte*> buffers;
  for (int r = 0; r < ranks; ++r) {
    for (std::int64_t i = 0; i < n; ++i) data[r][i] = input(r, i);
    buffers.push_back(reinterpret_cast<std::byte*>(data[r].data()));
  }
  const std::int64_t size = sizeof(T);
  sum_in_place(buffers, {2 * size, (n - 1) * size}, size == 8 ? ElementType::f64 : ElementType::f32);
  for (int r = 0; r < ranks; ++r) {
    for (std::int64_t i = 0; i < n; ++i) {
      T expected = input(0, i);
      for (int k = 1; k < ranks; ++k) expected += input(k, i);
      const bool inside = i >= 2 && i < n - 1;
      ASSERT_EQ(data[r][i], inside ? expected : input(r, i)) << "rank " << r << " of " << ranks << ", element " << i;
    }
  }
}

TEST(SumInPlace, AddsInTheOrderOfTheBuffersAndTouchesNothingElse) {
  for (int ranks : {1, 2, 3, 4, 5, 9}) {
    for (std::int64_t n : {3, 4, 100, 5003, 70000}) {
      if (ranks == 1) continue;
      expect_sums_in_order<float>(ranks, n);
      expect_sums_in_order<double>(ranks, n);
    }
  }
}

}  // namespace
}  // namespace parabench
