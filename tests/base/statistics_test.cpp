#include "base/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/random.h"

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
  EXPECT_THROW(mann_whitney(none, odd), std::invalid_argument);
  EXPECT_THROW(bootstrap_median_ratio(odd, none), std::invalid_argument);
  EXPECT_THROW(bootstrap_median(std::vector<std::vector<double>>{}), std::invalid_argument);
  EXPECT_THROW(bootstrap_median(std::vector<std::vector<double>>{{}, {}}), std::invalid_argument);
  EXPECT_THROW(bootstrap_mean(none), std::invalid_argument);
}

// Literal results of scipy 1.17.1's t.ppf(p, degrees).
TEST(RankCorrelation, IsThatOfTheOrders) {
  EXPECT_DOUBLE_EQ(rank_correlation(std::vector<double>{1, 2, 3, 4}, std::vector<double>{10, 20, 30, 1e9}).value(), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(std::vector<double>{1, 2, 3, 4}, std::vector<double>{9, 7, 2, -1}).value(), -1);
  // Without ties 1 - 6 sum(d^2) / (n (n^2 - 1)).
  const std::vector<double> a = {106, 86, 100, 101, 99, 103, 97, 113, 112, 110},
                            b = {7, 0, 27, 50, 28, 29, 20, 12, 6, 17};
  EXPECT_DOUBLE_EQ(rank_correlation(a, b).value(), 1 - 6 * 194.0 / 990);
  EXPECT_DOUBLE_EQ(rank_correlation(b, a).value(), rank_correlation(a, b).value());
}

TEST(RankCorrelation, EqualValuesShareTheirRanks) {
  // Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: covariance 4.5, variances 4.5 and 5.
  EXPECT_DOUBLE_EQ(rank_correlation(std::vector<double>{1, 2, 2, 3}, std::vector<double>{5, 7, 6, 8}).value(),
                   4.5 / std::sqrt(4.5 * 5));
  EXPECT_DOUBLE_EQ(rank_correlation(std::vector<double>{1, 1, 2, 2}, std::vector<double>{4, 4, 4, 5}).value(),
                   2 / std::sqrt(4.0 * 3));
}

TEST(RankCorrelation, IsNotKnownWhereNothingDiffers) {
  EXPECT_FALSE(rank_correlation(std::vector<double>{1, 2, 3}, std::vector<double>{5, 5, 5}));
  EXPECT_FALSE(rank_correlation(std::vector<double>{1}, std::vector<double>{2}));
  EXPECT_THROW(rank_correlation(odd, even), std::invalid_argument);
  EXPECT_THROW(rank_correlation({}, {}), std::invalid_argument);
}

TEST(Normal, AgreesWithScipy) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_quantile(0.25), -0.6744897501960817, 1e-12);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
}

TEST(NormalScores, AreNearlyTheMeansOfOrderedNormalValues) {
  EXPECT_EQ(normal_scores(1), std::vector<double>{0});
  // Means of the largest of n (Harter 1961).
  for (const auto& [n, largest] : {std::pair{2, 0.56419}, {4, 1.02938}, {10, 1.53875}, {100, 2.50759}}) {
    const std::vector<double> scores = normal_scores(n);
    EXPECT_NEAR(scores.back(), largest, 0.03) << n;
    EXPECT_TRUE(std::is_sorted(scores.begin(), scores.end())) << n;
    EXPECT_NEAR(mean(scores), 0, 1e-12) << n;
  }
}

TEST(StudentT, AgreesWithScipy) {
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.706204736174694, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.302652729749462, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.975, 3), 3.1824463052837078, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.9, 4), 1.533206274058944, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.975, 7), 2.364624251592784, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.1, 8), -1.3968153097438654, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.975, 31), 2.039513446396408, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.975, 200), 1.9718962236339088, 1e-9);
}

void expect_mann_whitney(const std::vector<double>& a, const std::vector<double>& b, double u, double p, bool exact) {
  const MannWhitney test = mann_whitney(a, b), swapped = mann_whitney(b, a);
  EXPECT_DOUBLE_EQ(test.u, u);
  EXPECT_NEAR(test.p, p, 1e-12);
  EXPECT_EQ(test.exact, exact);
  EXPECT_DOUBLE_EQ(swapped.u, static_cast<double>(a.size() * b.size()) - u);
  EXPECT_DOUBLE_EQ(swapped.p, test.p);
}

// Literal results of scipy 1.17.1's mannwhitneyu, method exact without ties, asymptotic with them.
TEST(MannWhitneyTest, AgreesWithScipy) {
  expect_mann_whitney({1, 2, 3}, {4, 5, 6}, 0, 0.1, true);
  expect_mann_whitney({1, 2, 3, 4}, {5, 6, 7, 8}, 0, 0.02857142857142857, true);
  expect_mann_whitney({1, 3, 5}, {2, 4, 6, 7, 8}, 3, 0.25, true);
  expect_mann_whitney({1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30},
                      {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06001, 3.14, 1.29001}, 58, 0.13591114767585355, true);
  expect_mann_whitney({1, 2, 2, 3, 5}, {2, 4, 4, 6}, 5, 0.26017490098354834, false);
  expect_mann_whitney({1, 1, 2, 2}, {3, 3, 4, 4}, 0, 0.026518721959430728, false);
  expect_mann_whitney({1, 1, 1}, {1, 1, 1}, 4.5, 1, false);
  std::vector<double> a, b;
  for (int i = 1; i <= 60; ++i) a.push_back((i * 7919 % 1009) / 100.0);
  for (int i = 1; i <= 55; ++i) b.push_back((i * 104729 % 1013) / 90.0);
  expect_mann_whitney(a, b, 1603.5, 0.7967534016904209, false);
  a.resize(20);
  b.resize(30);
  expect_mann_whitney(a, b, 294, 0.9140941321791165, true);
}

TEST(MannWhitneyTest, SmallSamplesHaveASmallestP) {
  EXPECT_DOUBLE_EQ(smallest_mann_whitney_p(3), 0.1);
  EXPECT_DOUBLE_EQ(smallest_mann_whitney_p(4), 2.0 / 70);
  EXPECT_DOUBLE_EQ(smallest_mann_whitney_p(1), 1);
}

// The median of three draws is the least with probability 7/27 and the middle one with 13/27. Hence the smallest ratio,
// 4 / 3, has (7/27)^2 = 6.7 %, more than 2.5 %, and with the next, 5 / 3, 6.7 % + 12.5 %, more than 10 %; likewise
// above.
TEST(BootstrapRatio, MeetsTheExactDistributionOfASmallSample) {
  const std::vector<double> a = {2, 3, 1}, b = {5, 4, 6};
  const auto [low, high] = bootstrap_median_ratio(a, b, 0.95, 20000);
  EXPECT_NEAR(low, 4.0 / 3, 1e-12);
  EXPECT_NEAR(high, 6, 1e-12);
  const auto [inner_low, inner_high] = bootstrap_median_ratio(a, b, 0.8, 20000);
  EXPECT_NEAR(inner_low, 5.0 / 3, 1e-12);
  EXPECT_NEAR(inner_high, 5, 1e-12);
}

TEST(BootstrapRatio, IsMirroredWhereSamplesAreSwapped) {
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    std::vector<double> a, b;
    for (std::uint64_t i = 0; i < 3 + trial; ++i) a.push_back(1 + counter_uniform(trial, 1, i));
    for (std::uint64_t i = 0; i < 7; ++i) b.push_back(1 + counter_uniform(trial, 2, i));
    const auto [low, high] = bootstrap_median_ratio(a, b);
    const auto [swapped_low, swapped_high] = bootstrap_median_ratio(b, a);
    EXPECT_LT(low, high);
    EXPECT_NEAR(swapped_low * high, 1, 1e-12);
    EXPECT_NEAR(swapped_high * low, 1, 1e-12);
  }
}

TEST(BootstrapRatio, HoldsTheRatioAboutAsOftenAsItSays) {
  for (const auto& [values, least] : {std::pair<std::uint64_t, int>{3, 88}, {5, 93}, {10, 93}}) {
    constexpr std::uint64_t trials = 400;
    int held = 0;
    for (std::uint64_t trial = 0; trial < trials; ++trial) {
      std::vector<double> a, b;
      for (std::uint64_t i = 0; i < values; ++i) {
        a.push_back(std::exp(0.1 * counter_normal(trial, 1, i)));
        b.push_back(2 * std::exp(0.1 * counter_normal(trial, 2, i)));
      }
      const auto [low, high] = bootstrap_median_ratio(a, b, 0.95, 500);
      held += low <= 2 && 2 <= high;
    }
    EXPECT_GE(100 * held, least * static_cast<int>(trials)) << values;
    EXPECT_LT(100 * held, 99 * static_cast<int>(trials)) << values << " values: not wider than needed";
  }
}

// Drawn from one stream for both, a sample against itself would always give 1.
TEST(BootstrapRatio, OfASampleAgainstItselfIsAsWideAsItsNoise) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < 15; ++i) values.push_back(1 + 0.1 * counter_normal(1, 1, i));
  const auto [low, high] = bootstrap_median_ratio(values, values);
  EXPECT_LT(low, 0.98);
  EXPECT_GT(high, 1.02);
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

// The mean of two draws from 0 and 1 is 0, 0.5 and 1 with the probabilities 1/4, 1/2 and 1/4.
TEST(BootstrapMean, MeetsTheExactDistributionOfASmallSample) {
  const std::vector<double> values = {0, 1};
  EXPECT_EQ(bootstrap_mean(values), std::pair(0.0, 1.0));
  EXPECT_EQ(bootstrap_mean(values, 0.4), std::pair(0.5, 0.5));
}

TEST(BootstrapMean, OfManyValuesIsThatOfANormalMean) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < 400; ++i) values.push_back(3 + counter_normal(1, 1, i));
  const auto [low, high] = bootstrap_mean(values);
  EXPECT_NEAR((low + high) / 2, mean(values), 0.02);
  EXPECT_NEAR((high - low) / 2, 1.96 / std::sqrt(400.0), 0.015);
  EXPECT_EQ(bootstrap_mean(values), bootstrap_mean(values)) << "a function of its seed";
}

}  // namespace
}  // namespace parabench
