#include "parallelism/comm/reduce.h"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace parabench::comm
