#include "analytic/validation/fit_constants.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace parabench::analytic {
namespace {

using Vector = std::vector<double>;

/// a x + b at x = 1 to 20, against 3 x + 50 where `off` does not say otherwise.
auto line(const std::vector<std::pair<int, double>>& off = {}) {
  return [off](std::span<const double> c) {
    Vector logs;
    for (int x = 1; x <= 20; ++x) {
      double measured = 3 * x + 50;
      for (const auto& [at, factor] : off)
        if (at == x) measured *= factor;
      logs.push_back(std::log((c[0] * x + c[1]) / measured));
    }
    return logs;
  };
}

TEST(FitConstants, RecoversWhatMadeTheRows) {
  const Vector found = fit_constants(Vector{1, 1}, line());
  EXPECT_NEAR(found[0], 3, 3e-3);
  EXPECT_NEAR(found[1], 50, 5e-2);
}

TEST(FitConstants, RowsThatAreFarOffCountLittle) {
  const Vector found = fit_constants(Vector{1, 1}, line({{5, 10}, {17, .1}}));
  EXPECT_NEAR(found[0], 3, .3);
  EXPECT_NEAR(found[1], 50, 4);
}

TEST(FitConstants, WhatNoRowTellsStaysAtItsStart) {
  const Vector found = fit_constants(Vector{1, 7}, [](std::span<const double> c) {
    return Vector{std::log(c[0] / 4), std::log(c[0] / 4)};
  });
  EXPECT_NEAR(found[0], 4, 1e-4);
  EXPECT_DOUBLE_EQ(found[1], 7);
}

TEST(FitConstants, EndsWhereNothingHelps) {
  const Vector found = fit_constants(Vector{2}, [](std::span<const double>) { return Vector{1.0, -1.0}; });
  EXPECT_DOUBLE_EQ(found[0], 2);
}

TEST(FitConstants, PredictionsThatOverflowOnTheWayDoNoHarm) {
  const Vector found = fit_constants(Vector{1}, [](std::span<const double> c) {
    return Vector{c[0] > 2 ? std::numeric_limits<double>::quiet_NaN() : std::log(c[0] / 2)};
  });
  EXPECT_NEAR(found[0], 2, .01);
}

}  // namespace
}  // namespace parabench::analytic
