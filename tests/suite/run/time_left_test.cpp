#include "suite/run/time_left.h"

#include <gtest/gtest.h>

#include <random>

namespace parabench::suite {
namespace {

TEST(TimeLeft, CountsDownWhereAllGoesAsExpected) {
  TimeLeft left(30);
  for (int i = 0; i < 3; ++i) {
    left.begin_case(10, 10 * i);
    for (int s = 0; s <= 10; ++s) EXPECT_DOUBLE_EQ(left.seconds(10 * i + s).value(), 30 - 10 * i - s);
    left.end_case(10 * (i + 1), true);
  }
  EXPECT_EQ(left.seconds(30).value(), 0);
}

TEST(TimeLeft, TakesTheScaleOfFinishedCases) {
  TimeLeft left(1000);
  double now = 0;
  for (int i = 0; i < 20; ++i) {
    left.begin_case(10, now);
    left.end_case(now += 30, true);
  }
  EXPECT_DOUBLE_EQ(left.seconds(now).value(), 3 * (1000 - 200));
  left.begin_case(100, now);
  EXPECT_DOUBLE_EQ(left.seconds(now + 50).value(), 3 * 800 - 50) << "the time of a case that has begun is taken off";
}

TEST(TimeLeft, DoesNotJumpByOneCase) {
  TimeLeft left(1000);
  left.begin_case(10, 0);
  left.end_case(500, true);
  double now = 500;
  for (int i = 0; i < 10; ++i) {
    left.begin_case(10, now);
    left.end_case(now += 10, true);
  }
  EXPECT_DOUBLE_EQ(left.seconds(now).value(), 1000 - 110) << "one case that took 50 times as long is an exception";
  left.begin_case(10, now);
  left.end_case(now + 4000, false);
  EXPECT_DOUBLE_EQ(left.seconds(now + 4000).value(), 1000 - 120) << "one that failed tells nothing about others";
}

TEST(TimeLeft, IsUnknownInACaseOfWhichNothingIsExpectedAndTheSameAfterIt) {
  TimeLeft left(40);
  left.begin_case(0, 0);
  EXPECT_EQ(left.seconds(5), std::nullopt);
  left.end_case(5, true);
  EXPECT_DOUBLE_EQ(left.seconds(5).value(), 40);
}

TEST(TimeLeft, IsNeverNegative) {
  TimeLeft left(10);
  left.begin_case(10, 0);
  EXPECT_EQ(left.seconds(1000).value(), 0);
  left.end_case(1000, true);
  EXPECT_EQ(left.seconds(1000).value(), 0);
}

/// Cases of different lengths take 2 to 8 times as long as expected, a few up to 100 times.
TEST(TimeLeft, IsWithinTheSpreadOfFinishedCasesAfterAFew) {
  std::mt19937 engine(1);
  const auto chance = [&](double low, double high) { return low + (high - low) * engine() / double{0xffffffff}; };
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<double> expected, taken;
    double sum = 0, now = 0;
    for (int i = 0; i < 40; ++i) {
      expected.push_back(chance(1, 60));
      taken.push_back(expected.back() * (i % 13 == 5 ? chance(8, 100) : chance(2, 8)));
      sum += expected.back();
    }
    TimeLeft left(sum);
    for (int i = 0; i < 40; ++i) {
      left.begin_case(expected[i], now);
      left.end_case(now += taken[i], true);
      sum -= expected[i];
      if (i < 4) continue;
      EXPECT_GE(left.seconds(now).value(), 2 * sum - 1e-9);
      EXPECT_LE(left.seconds(now).value(), 8 * sum + 1e-9);
    }
  }
}

}  // namespace
}  // namespace parabench::suite
