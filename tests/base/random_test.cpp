#include "base/random.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>
#include <string>

namespace parabench {
namespace {

TEST(Hash, IsFnv1a64) {
  static_assert(fnv1a64("") == 0xcbf29ce484222325ULL);
  static_assert(fnv1a64("a") == 0xaf63dc4c8601ec8cULL);
  static_assert(fnv1a64("foobar") == 0x85944171f73967e8ULL);
  EXPECT_EQ(hex16(0x1f), "000000000000001f");
  EXPECT_EQ(hex16(fnv1a64("foobar")), "85944171f73967e8");
}

// The first outputs of the reference splitmix64 from state 0: mix64 of multiples of the golden ratio.
TEST(Random, MixesAsSplitmix64) {
  EXPECT_EQ(mix64(0x9e3779b97f4a7c15ULL), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(mix64(2 * 0x9e3779b97f4a7c15ULL), 0x6e789e6aa1b965f4ULL);
}

TEST(Random, StreamsSeedsAndElementsDiffer) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (const char* name : {"conv1.weight", "conv2.weight", "fc.bias"}) {
      for (std::uint64_t i = 0; i < 1000; ++i) seen.insert(counter_hash(seed, hash_name(name), i));
    }
  }
  EXPECT_EQ(seen.size(), 8U * 3 * 1000);
  EXPECT_NE(counter_hash(1, 2, 0), counter_hash(2, 1, 0));
}

TEST(Random, UniformsFillTheUnitInterval) {
  double sum = 0, low = 1, high = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double u = counter_uniform(1, hash_name("u"), static_cast<std::uint64_t>(i));
    sum += u;
    low = std::min(low, u);
    high = std::max(high, u);
  }
  EXPECT_GE(low, 0);
  EXPECT_LT(high, 1);
  EXPECT_LT(low, 1e-4);
  EXPECT_GT(high, 1 - 1e-4);
  EXPECT_NEAR(sum / n, 0.5, 4 / std::sqrt(12.0 * n));
}

TEST(Random, NormalsHaveTheRightMoments) {
  double sum = 0, squares = 0, fourth = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double x = counter_normal(7, hash_name("n"), static_cast<std::uint64_t>(i));
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / n, 0, 4 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 4 * std::sqrt(2.0 / n));
  EXPECT_NEAR(fourth / n, 3, 4 * std::sqrt(96.0 / n));
}

TEST(Random, EveryBitOfTheCounterFlipsHalfOfTheOutput) {
  for (int bit = 0; bit < 64; ++bit) {
    int flipped = 0;
    for (std::uint64_t i = 0; i < 256; ++i) {
      flipped += std::popcount(counter_hash(1, 2, i) ^ counter_hash(1, 2, i ^ (1ULL << bit)));
    }
    EXPECT_NEAR(flipped / 256.0, 32, 1.5) << bit;
  }
}

}  // namespace
}  // namespace parabench
