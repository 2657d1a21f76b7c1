#include "analytic/calibration/rising.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace parabench::analytic {
namespace {

using ::testing::ElementsAre;

Curve curve_of(const std::vector<double>& seconds) {
  Curve curve;
  for (const double one : seconds) curve.push_back({static_cast<std::int64_t>(curve.size()) * 4096, one});
  return curve;
}

std::vector<double> seconds_of(const Curve& curve) {
  std::vector<double> seconds;
  for (const CurvePoint& point : curve) seconds.push_back(point.seconds);
  return seconds;
}

double squares(const Curve& a, const Curve& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i].seconds - b[i].seconds) * (a[i].seconds - b[i].seconds);
  return sum;
}

TEST(Rising, WhatRisesIsItself) {
  EXPECT_THAT(seconds_of(rising(curve_of({1, 2, 2, 5}))), ElementsAre(1, 2, 2, 5));
  EXPECT_TRUE(rising({}).empty());
}

TEST(Rising, SizesThatFallAreTheirMean) {
  EXPECT_THAT(seconds_of(rising(curve_of({1, 6, 2, 9}))), ElementsAre(1, 4, 4, 9));
  EXPECT_THAT(seconds_of(rising(curve_of({5, 6, 1, 9}))), ElementsAre(4, 4, 4, 9)) << "the mean falls below the first";
  EXPECT_THAT(seconds_of(rising(curve_of({4, 3, 2, 1}))), ElementsAre(2.5, 2.5, 2.5, 2.5));
}

TEST(Rising, OfAnyCurveItIsTheNearestThatRises) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> seconds(0, 1);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> measured(1 + random() % 12);
    for (double& one : measured) one = seconds(random);
    const Curve given = curve_of(measured), found = rising(given);
    const std::vector<double> values = seconds_of(found);
    EXPECT_TRUE(std::ranges::is_sorted(values));
    EXPECT_TRUE(std::ranges::equal(given, found, {}, &CurvePoint::bytes, &CurvePoint::bytes));
    EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0),
                std::accumulate(measured.begin(), measured.end(), 0.0), 1e-12);
    for (int other = 0; other < 50; ++other) {
      std::vector<double> rival(measured.size());
      for (double& one : rival) one = seconds(random);
      std::ranges::sort(rival);
      // Between the two as well: the sum of squares is convex.
      for (std::size_t i = 0; i < rival.size(); ++i) rival[i] = values[i] + (rival[i] - values[i]) / (1 << other % 10);
      EXPECT_LE(squares(given, found), squares(given, curve_of(rival)) + 1e-12);
    }
    EXPECT_EQ(seconds_of(rising(found)), values);
  }
}

TEST(Rising, SecondsBesideComputingRiseByThemselvesWhereTheyAreKnown) {
  const Curve curve = rising({{1, 1, 6}, {2, 2}, {4, 3, 2}, {8, 4, 7}});
  EXPECT_EQ(curve[0].loaded_s, 4);
  EXPECT_EQ(curve[1].loaded_s, 0);
  EXPECT_EQ(curve[2].loaded_s, 4);
  EXPECT_EQ(curve[3].loaded_s, 7);
  EXPECT_EQ(curve[2].seconds, 3);
}

}  // namespace
}  // namespace parabench::analytic
