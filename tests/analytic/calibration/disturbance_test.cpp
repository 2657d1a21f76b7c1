#include "analytic/calibration/disturbance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytic/calibration/combine.h"

namespace parabench::analytic {
namespace {

using ::testing::HasSubstr;

Calibration launch(int day, int ranks, double matrix_product_s) {
  Calibration c;
  c.date = "2026-01-0" + std::to_string(day) + "T00:00:00Z";
  c.ranks = ranks;
  c.canary = Canary{.matrix_product_s = matrix_product_s, .triad_s = 1e-3, .steal_share = 0.0};
  return c;
}

TEST(Disturbance, IsAMatrixProductFarFromTheFastestOfAsManyRanks) {
  const Calibration known = combined({launch(1, 2, 8e-5), launch(2, 2, 3e-3), launch(3, 1, 1e-6)});
  EXPECT_EQ(disturbance(known, launch(4, 2, 1.5e-4)), "");
  EXPECT_EQ(disturbance(known, launch(4, 2, 1e-2)),
            "its matrix product took 10.0 ms, that of another launch of 2 ranks took 80.0 us");
  EXPECT_EQ(disturbance(known, launch(4, 4, 1e-2)), "") << "nobody else had as many ranks";
}

TEST(Disturbance, OfTheOnlyLaunchIsWhatAHypervisorTook) {
  Calibration only = launch(1, 2, 1e-2);
  EXPECT_EQ(disturbance(only, only), "");
  only.canary->steal_share = 0.4;
  EXPECT_EQ(disturbance(only, only), "");
  only.canary->steal_share = 0.6;
  EXPECT_THAT(disturbance(only, only), HasSubstr("60 % of the cores' time"));
  only.canary.reset();
  EXPECT_EQ(disturbance(only, only), "");
}

}  // namespace
}  // namespace parabench::analytic
