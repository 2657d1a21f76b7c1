#include "parallelism/plan/partition.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

namespace parabench {
namespace {

using testing::ElementsAre;

double largest_stage(const std::vector<double>& costs, const std::vector<int>& sizes) {
  double largest = 0;
  auto layer = costs.begin();
  for (int size : sizes) {
    largest = std::max(largest, std::accumulate(layer, layer + size, 0.0));
    layer += size;
  }
  return largest;
}

/// Calls `visit` with every composition of n into k parts, in lexicographic order.
void compositions(int n, int k, std::vector<int>& parts, const std::function<void()>& visit) {
  if (k == 1) {
    parts.push_back(n);
    visit();
    parts.pop_back();
    return;
  }
  for (int first = 1; first <= n - k + 1; ++first) {
    parts.push_back(first);
    compositions(n - first, k - 1, parts, visit);
    parts.pop_back();
  }
}

TEST(Partition, IsTheFirstOptimumAmongAllCompositions) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> cost(0, 9);
  for (int n = 1; n <= 12; ++n) {
    for (int k = 1; k <= std::min(n, 6); ++k) {
      std::vector<double> costs(n);
      for (double& c : costs) c = cost(random);
      std::vector<int> best, parts;
      compositions(n, k, parts, [&] {
        if (best.empty() || largest_stage(costs, parts) < largest_stage(costs, best)) best = parts;
      });
      EXPECT_EQ(min_max_partition(costs, k), best) << "n " << n << ", k " << k;
    }
  }
}

TEST(Partition, HoldsWithSumsThatRound) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> cost(0.0, 1e-3);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> costs(40);
    for (double& c : costs) c = cost(random);
    const auto sizes = min_max_partition(costs, 7);
    EXPECT_EQ(sizes.size(), 7u);
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), 0), 40);
    EXPECT_GE(*std::ranges::min_element(sizes), 1);
  }
}

// PipeDream's profile of VGG-16, batch 128 (milliseconds, forward + backward): schedules of four and two stages.
TEST(Partition, CutsVgg16AtItsKnownOptimum) {
  const std::vector<double> vgg16 = {56.9, 169.3, 9.4, 59.9, 80.6, 5.0,  31.9, 47.6, 51.0, 2.7, 25.5,
                                     38.8, 42.0,  1.6, 14.0, 12.1, 13.3, .8,   7.5,  1.8,  .9};
  EXPECT_THAT(min_max_partition(vgg16, 4), ElementsAre(1, 2, 5, 13));
  EXPECT_THAT(min_max_partition(vgg16, 2), ElementsAre(5, 16));
  EXPECT_NEAR(largest_stage(vgg16, {1, 2, 5, 13}), 225.0, 0.05);
}

TEST(Partition, UniformGivesLargerStagesFirst) {
  EXPECT_THAT(uniform_partition(10, 4), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(uniform_partition(3, 3), ElementsAre(1, 1, 1));
}

}  // namespace
}  // namespace parabench
