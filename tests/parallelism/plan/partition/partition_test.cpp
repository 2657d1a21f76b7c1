#include "parallelism/plan/partition/partition.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "base/error.h"

namespace parabench::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

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

/// torchgpipe's block partition (Barany and Grinberg): neighbours give and take single items until the normalised sums
/// differ by one at most. For comparison.
std::vector<int> block_partition(std::vector<double> costs, int blocks) {
  const auto [least, most] = std::ranges::minmax(costs);
  for (double& cost : costs) cost = (cost - least) / std::max(most - least, 1e-300);
  std::vector<int> sizes(blocks, static_cast<int>(costs.size()) / blocks);
  sizes.back() += static_cast<int>(costs.size()) % blocks;
  auto sums = [&] {
    std::vector<double> result;
    auto item = costs.begin();
    for (int size : sizes) {
      result.push_back(std::accumulate(item, item + size, 0.0));
      item += size;
    }
    return result;
  };
  std::vector<double> now = sums();
  auto largest = std::ranges::max_element(now) - now.begin();
  for (;;) {
    const auto [low, high] = std::ranges::minmax_element(now);
    if (*high <= *low + 1) return sizes;
    const auto smallest = low - now.begin();
    const double before = now[largest];
    const auto giver = largest < smallest ? smallest - 1 : smallest + 1;
    --sizes[giver];
    ++sizes[smallest];
    now = sums();
    if (now[largest] != before) largest = std::ranges::max_element(now) - now.begin();
  }
}

TEST(Partition, IsNeverWorseThanTheBlockPartition) {
  EXPECT_THAT(block_partition({1, 2, 3, 4, 5, 6}, 2), ElementsAre(4, 2));
  std::mt19937 random(3);
  std::uniform_real_distribution<double> cost(0.0, 10.0);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> costs(20);
    for (double& c : costs) c = cost(random);
    for (int k = 1; k <= 6; ++k) {
      EXPECT_LE(largest_stage(costs, min_max_partition(costs, k)),
                largest_stage(costs, block_partition(costs, k)) * (1 + 1e-12));
    }
  }
}

// PipeDream's profile of VGG-16, batch 128 (milliseconds, forward + backward), and what torchgpipe makes of it.
TEST(Partition, CutsVgg16AtItsKnownOptimum) {
  const std::vector<double> vgg16 = {56.9, 169.3, 9.4, 59.9, 80.6, 5.0,  31.9, 47.6, 51.0, 2.7, 25.5,
                                     38.8, 42.0,  1.6, 14.0, 12.1, 13.3, .8,   7.5,  1.8,  .9};
  EXPECT_THAT(min_max_partition(vgg16, 4), ElementsAre(1, 2, 5, 13));
  EXPECT_NEAR(largest_stage(vgg16, {1, 2, 5, 13}), 225.0, 0.05);
  EXPECT_THAT(block_partition(vgg16, 4), ElementsAre(3, 4, 4, 10));
  EXPECT_NEAR(largest_stage(vgg16, {3, 4, 4, 10}), 235.6, 0.05);
  EXPECT_THAT(min_max_partition(vgg16, 2), ElementsAre(5, 16));
  EXPECT_NEAR(largest_stage(vgg16, {5, 16}), 376.1, 0.05);
  EXPECT_THAT(block_partition(vgg16, 2), ElementsAre(7, 14));
  EXPECT_NEAR(largest_stage(vgg16, {7, 14}), 413.0, 0.05);
}

/// The plain dynamic programme D[k][i] = min_j max(S_j - S_i, D[k-1][j]), for chains that brute force does not reach.
std::vector<int> by_dynamic_programme(const std::vector<double>& costs, int stages) {
  const int n = static_cast<int>(costs.size());
  std::vector<double> sum(n + 1, 0.0);
  std::partial_sum(costs.begin(), costs.end(), sum.begin() + 1);
  std::vector<std::vector<double>> best(stages + 1, std::vector<double>(n + 1, INFINITY));
  best[0][n] = 0.0;
  for (int k = 1; k <= stages; ++k) {
    for (int i = 0; i < n; ++i) {
      for (int j = i + 1; j <= n; ++j) best[k][i] = std::min(best[k][i], std::max(sum[j] - sum[i], best[k - 1][j]));
    }
  }
  std::vector<int> sizes;
  for (int k = stages, i = 0; k > 0; --k) {
    int j = i + 1;
    while (std::max(sum[j] - sum[i], best[k - 1][j]) > best[stages][0]) ++j;
    sizes.push_back(j - i);
    i = j;
  }
  return sizes;
}

TEST(Partition, IsExactWhereSumsRound) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> cost(0.0, 1e-3);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> costs(60);
    for (double& c : costs) c = round % 2 ? cost(random) : 0.1;  // equal costs tie but for their rounding
    for (int k : {1, 2, 7, 30, 59, 60}) EXPECT_EQ(min_max_partition(costs, k), by_dynamic_programme(costs, k));
  }
}

std::int64_t largest_bytes_over(const MemoryLimit& limit, const std::vector<int>& sizes) {
  std::int64_t largest = 0;
  int layer = 0;
  for (std::size_t stage = 0; stage < sizes.size(); ++stage) {
    std::int64_t bytes = 0;
    for (const int end = layer + sizes[stage]; layer < end; ++layer) {
      bytes += limit.layers[layer].fixed + limit.in_flight[stage] * limit.layers[layer].in_flight;
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

TEST(MemoryLimitedPartition, IsTheFirstOptimumAmongAllCompositionsThatFit) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> amount(0, 9), flights(0, 4);
  int changed = 0, refused = 0;
  for (int round = 0; round < 20; ++round) {
    for (int n = 1; n <= 12; ++n) {
      for (int k = 1; k <= std::min(n, 6); ++k) {
        std::vector<double> costs(n);
        std::vector<LayerBytes> bytes(n);
        std::vector<int> in_flight(k);
        for (double& c : costs) c = amount(random);
        for (LayerBytes& b : bytes) b = {amount(random), amount(random)};
        for (int& f : in_flight) f = flights(random);
        const MemoryLimit limit{bytes, in_flight, std::uniform_int_distribution<int>(0, 30 * n / k)(random)};
        std::vector<int> best, parts;
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        compositions(n, k, parts, [&] {
          const std::int64_t needed = largest_bytes_over(limit, parts);
          least = std::min(least, needed);
          if (needed > limit.bytes) return;
          if (best.empty() || largest_stage(costs, parts) < largest_stage(costs, best)) best = parts;
        });
        if (!best.empty()) {
          EXPECT_EQ(memory_limited_partition(costs, limit), best) << "n " << n << ", k " << k;
          changed += best != min_max_partition(costs, k);
          continue;
        }
        ++refused;
        try {
          memory_limited_partition(costs, limit);
          ADD_FAILURE() << "cut below " << least << " bytes";
        } catch (const Error& error) {
          EXPECT_THAT(error.what(), HasSubstr("at least " + std::to_string(least) + " bytes"));
        }
      }
    }
  }
  EXPECT_GT(changed, 100);
  EXPECT_GT(refused, 100);
}

TEST(MemoryLimitedPartition, NamesTheStageThatDoesNotFit) {
  const std::vector<LayerBytes> bytes = {{1, 0}, {5, 100}, {5, 100}, {1, 0}};
  const std::vector<int> in_flight = {3, 2};
  try {
    memory_limited_partition(std::vector<double>{1, 1, 1, 1}, {bytes, in_flight, 200});
    FAIL() << "cut";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("memory: got '200'"), HasSubstr("at least 306 bytes, which stage 0"),
                                    HasSubstr("layers 0 to 1, 3 micro-batches in flight")));
  }
}

TEST(MemoryLimitedPartition, WithRoomEnoughIsTheMinMaxPartition) {
  std::mt19937 random(6);
  std::uniform_real_distribution<double> cost(0.0, 1e-3);
  std::vector<double> costs(40);
  for (double& c : costs) c = cost(random);
  const std::vector<LayerBytes> bytes(40, {10, 10});
  const std::vector<int> in_flight = {4, 3, 2, 1};
  EXPECT_EQ(memory_limited_partition(costs, {bytes, in_flight, 1'000'000}), min_max_partition(costs, 4));
}

TEST(Partition, UniformGivesLargerStagesFirst) {
  EXPECT_THAT(uniform_partition(10, 4), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(uniform_partition(3, 3), ElementsAre(1, 1, 1));
}

}  // namespace
}  // namespace parabench::plan
