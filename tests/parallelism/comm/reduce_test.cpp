#include "parallelism/comm/reduce.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "parallelism/comm/bf16.h"

namespace parabench::comm {
namespace {

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
  const Share part{2 * size, (n - 1) * size};
  const ElementType type = size == 8 ? ElementType::f64 : ElementType::f32;
  const auto sum = [&](std::int64_t i) {
    T added = input(0, i);
    for (int k = 1; k < ranks; ++k) added += input(k, i);
    return added;
  };
  const auto inside = [&](std::int64_t i) { return i >= 2 && i < n - 1; };
  const auto expect_summed = [&](const std::vector<bool>& summed) {
    for (int r = 0; r < ranks; ++r) {
      for (std::int64_t i = 0; i < n; ++i)
        ASSERT_EQ(data[r][i], summed[r] && inside(i) ? sum(i) : input(r, i))
            << "rank " << r << " of " << ranks << ", element " << i;
    }
  };
  std::vector<T> apart(n, T(-77));
  sum_into(reinterpret_cast<std::byte*>(apart.data()), buffers, part, type);
  for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(apart[i], inside(i) ? sum(i) : T(-77)) << "element " << i;
  expect_summed(std::vector<bool>(ranks));
  std::vector<bool> last(ranks);
  last.back() = true;
  sum_into(buffers.back(), buffers, part, type);
  expect_summed(last);
  for (std::int64_t i = 0; i < n; ++i) data.back()[i] = input(ranks - 1, i);
  sum_in_place(buffers, part, type);
  expect_summed(std::vector<bool>(ranks, true));
}

TEST(Sums, AreAddedInTheOrderOfTheBuffersAndTouchNothingElse) {
  for (int ranks : {1, 2, 3, 4, 5, 9}) {
    for (std::int64_t n : {3, 4, 100, 5003, 70000}) {
      expect_sums_in_order<float>(ranks, n);
      expect_sums_in_order<double>(ranks, n);
    }
  }
}

float rounded(float value) {
  Bf16 stored;
  stored = value;
  return stored;
}

TEST(Sums, OfBf16AreAddedInF32AndRoundedOnce) {
  for (int ranks : {2, 3, 4, 5, 9}) {
    constexpr std::int64_t n = 5003;
    std::vector<std::vector<Bf16>> data(ranks, std::vector<Bf16>(n));
    std::vector<std::byte*> buffers;
    std::vector<float> sums(n, 0);
    for (int r = 0; r < ranks; ++r) {
      for (std::int64_t i = 0; i < n; ++i) {
        data[r][i] = std::sin(static_cast<float>(r * n + i)) * (i % 3 == 0 ? 1e4F : 1);
        sums[i] += data[r][i];
      }
      buffers.push_back(reinterpret_cast<std::byte*>(data[r].data()));
    }
    sum_in_place(buffers, {0, n * std::int64_t{sizeof(Bf16)}}, ElementType::bf16);
    for (int r = 0; r < ranks; ++r)
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(float{data[r][i]}, rounded(sums[i])) << ranks << " ranks, " << i;
  }
}

TEST(Bf16, IsTheNearestNumberOfEightBits) {
  for (const float exact : {0.F, -1.5F, 1.0078125F, 3.3895314e38F, 1e-40F})
    EXPECT_NEAR(rounded(exact), exact, std::abs(exact) * 0x1p-8F + 1e-38F);
  EXPECT_EQ(rounded(1 + 0x1p-8F), 1) << "ties go to even";
  EXPECT_EQ(rounded(1 + 3 * 0x1p-8F), 1 + 0x1p-6F) << "ties go to even";
  EXPECT_EQ(rounded(1 + 0x1p-8F + 0x1p-20F), 1 + 0x1p-7F);
  EXPECT_EQ(rounded(HUGE_VALF), HUGE_VALF);
  EXPECT_EQ(rounded(3.4e38F), HUGE_VALF) << "beyond the largest";
  EXPECT_TRUE(std::isnan(rounded(std::bit_cast<float>(0x7fffffffU))));
}

}  // namespace
}  // namespace parabench::comm
