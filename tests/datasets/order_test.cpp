#include "datasets/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace parabench::datasets {
namespace {

TEST(SampleOrder, ShowsEverySampleOncePerEpoch) {
  for (const std::int64_t size : {1, 2, 7, 100, 1023}) {
    SampleOrder order(size, 5);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<int> seen(static_cast<std::size_t>(size));
      for (std::int64_t p = epoch * size; p < (epoch + 1) * size; ++p) {
        EXPECT_EQ(order.at(p).epoch, epoch);
        ++seen[static_cast<std::size_t>(order.at(p).index)];
      }
      EXPECT_TRUE(std::ranges::all_of(seen, [](int times) { return times == 1; }))
          << size << " samples, epoch " << epoch;
    }
  }
}

/// Each rank walks its own pieces of every step with an order of its own; together they must cover the stream.
TEST(SampleOrder, IsTheSameForAnyNumberOfRanksAndPieces) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 100; ++trial) {
    const int size = 1 + static_cast<int>(random() % 60), batch = 1 + static_cast<int>(random() % 40);
    const int pieces = 1 + static_cast<int>(random() % static_cast<unsigned>(batch)), steps = 8;
    SampleOrder whole(size, 9);
    std::vector<SampleOrder::Sample> expected, seen(static_cast<std::size_t>(steps * batch));
    for (int p = 0; p < steps * batch; ++p) expected.push_back(whole.at(p));
    for (int piece = 0; piece < pieces; ++piece) {
      SampleOrder own(size, 9);
      for (int step = 0; step < steps; ++step) {
        for (int p = batch * piece / pieces; p < batch * (piece + 1) / pieces; ++p) {
          seen[static_cast<std::size_t>(step * batch + p)] = own.at(step * batch + p);
        }
      }
    }
    EXPECT_EQ(seen, expected) << size << " samples, batch " << batch << ", " << pieces << " pieces";
  }
}

TEST(SampleOrder, DiffersByEpochAndSeedAndMayGoBack) {
  const auto epoch_of = [](SampleOrder& order, std::int64_t epoch) {
    std::vector<std::int64_t> indices;
    for (std::int64_t p = 0; p < 50; ++p) indices.push_back(order.at(epoch * 50 + p).index);
    return indices;
  };
  SampleOrder one(50, 1), two(50, 2);
  const auto first = epoch_of(one, 0);
  EXPECT_FALSE(std::ranges::is_sorted(first));
  EXPECT_NE(first, epoch_of(one, 1));
  EXPECT_NE(first, epoch_of(two, 0));
  EXPECT_EQ(first, epoch_of(one, 0));
}

TEST(SampleOrder, PutsEverySampleFirstEquallyOften) {
  constexpr int size = 8, epochs = 8000;
  SampleOrder order(size, 3);
  std::vector<int> first(size);
  for (int epoch = 0; epoch < epochs; ++epoch)
    ++first[static_cast<std::size_t>(order.at(std::int64_t{epoch} * size).index)];
  for (const int count : first) EXPECT_NEAR(count, epochs / size, 150);  // 5 standard deviations
}

}  // namespace
}  // namespace parabench::datasets
