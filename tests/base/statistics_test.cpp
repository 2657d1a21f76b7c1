#include "base/statistics.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace parabench {
namespace {

const std::vector<double> odd = {3, 1, 4, 1, 5, 9, 2};
const std::vector<double> even = {2.5, -1, 7, 0.5};

// Literal results of numpy 2.4 and scipy 1.17.
TEST(Statistics, AgreesWithNumpyAndScipy) {
  EXPECT_EQ(median(odd), 3);
  EXPECT_EQ(median(even), 1.5);
  EXPECT_DOUBLE_EQ(quantile(odd, 0.1), 1.0);
  EXPECT_DOUBLE_EQ(quantile(odd, 0.25), 1.5);
  EXPECT_DOUBLE_EQ(quantile(odd, 0.9), 6.6);
  EXPECT_DOUBLE_EQ(quantile(even, 0.1), -0.55);
  EXPECT_DOUBLE_EQ(quantile(even, 0.9), 5.65);
  EXPECT_EQ(mad(odd), 2);
  EXPECT_EQ(mad(even), 1.75);
  EXPECT_DOUBLE_EQ(mean(odd), 25.0 / 7);
}

TEST(Statistics, QuantilesMeetTheExtremes) {
  EXPECT_EQ(quantile(odd, 0), 1);
  EXPECT_EQ(quantile(odd, 1), 9);
  EXPECT_EQ(quantile(std::vector<double>{42}, 0.3), 42);
  EXPECT_EQ(mad(std::vector<double>{42}), 0);
}

TEST(Statistics, RefusesNoValues) {
  const std::vector<double> none;
  EXPECT_THROW(median(none), std::invalid_argument);
  EXPECT_THROW(mad(none), std::invalid_argument);
  EXPECT_THROW(mean(none), std::invalid_argument);
  EXPECT_THROW(bootstrap_median(std::vector<std::vector<double>>{}), std::invalid_argument);
  EXPECT_THROW(bootstrap_median(std::vector<std::vector<double>>{{}, {}}), std::invalid_argument);
}

// The median of nine draws from 1..9 is at most k with the probability that at least five of them are:
// 0.16 % for k = 1, 3.06 % for k = 2, so the 2.5 % percentile is 2 and by symmetry the 97.5 % percentile is 8.
TEST(Bootstrap, MeetsTheExactDistributionOfASmallSample) {
  const std::vector<std::vector<double>> one = {{9, 1, 8, 2, 7, 3, 6, 4, 5}};
  const auto [low, high] = bootstrap_median(one, 0.95, 20000);
  EXPECT_EQ(low, 2);
  EXPECT_EQ(high, 8);
}

TEST(Bootstrap, IsAFunctionOfItsSeed) {
  std::vector<std::vector<double>> one(1);
  for (int i = 0; i < 50; ++i) one[0].push_back((i * 7919 % 101) * 0.37);
  EXPECT_EQ(bootstrap_median(one), bootstrap_median(one));
  EXPECT_NE(bootstrap_median(one, 0.95, 200, 1), bootstrap_median(one, 0.95, 200, 2));
}

// Drawn step by step, the pooled median would hardly move between two launches that differ; drawn as wholes, it does.
TEST(Bootstrap, DrawsSeveralLaunchesAsWholes) {
  std::vector<std::vector<double>> launches(3);
  for (int i = 0; i < 20; ++i) {
    launches[0].push_back(1.0 + i * 1e-3);
    launches[1].push_back(2.0 + i * 1e-3);
    launches[2].push_back(3.0 + i * 1e-3);
  }
  const auto [low, high] = bootstrap_median(launches);
  EXPECT_LT(low, 1.1);
  EXPECT_GT(high, 2.9);
}

}  // namespace
}  // namespace parabench
