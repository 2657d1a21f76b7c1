#include "analytic/costs/interpolate.h"

#include <gtest/gtest.h>

#include <vector>

namespace parabench::analytic {
namespace {

double forward_of(const LayerTiming& t) { return t.forward_s; }

double at(std::vector<LayerTiming> timings, int samples) { return at_samples(timings, samples, forward_of); }

TEST(AtSamples, ReturnsWhatWasMeasured) {
  const std::vector<LayerTiming> t = {
      {.samples = 2, .forward_s = 3}, {.samples = 4, .forward_s = 4}, {.samples = 16, .forward_s = 20}};
  for (const LayerTiming& point : t) EXPECT_DOUBLE_EQ(at(t, point.samples), point.forward_s);
}

TEST(AtSamples, IsLinearBetweenNeighboursAndBeyondTheNearestPair) {
  const std::vector<LayerTiming> t = {
      {.samples = 2, .forward_s = 3}, {.samples = 4, .forward_s = 4}, {.samples = 16, .forward_s = 28}};
  EXPECT_DOUBLE_EQ(at(t, 3), 3.5);
  EXPECT_DOUBLE_EQ(at(t, 10), 16);
  EXPECT_DOUBLE_EQ(at(t, 20), 36);  // 4 + 2 (20 - 4)
  EXPECT_DOUBLE_EQ(at(t, 1), 2.5);  // t_floor 2, t_sample .5
}

TEST(AtSamples, OnePointScalesInProportion) { EXPECT_DOUBLE_EQ(at({{.samples = 8, .forward_s = 4}}, 2), 1); }

TEST(AtSamples, ALaunchFloorIsNeverNegative) {
  // The line through (4, 4) and (8, 12) would be -2 at 1.
  EXPECT_DOUBLE_EQ(at({{.samples = 4, .forward_s = 4}, {.samples = 8, .forward_s = 12}}, 1), 1);
}

TEST(AtSamples, NoiseCannotMakeALargeBatchFree) {
  EXPECT_DOUBLE_EQ(at({{.samples = 4, .forward_s = 4}, {.samples = 8, .forward_s = 1}}, 64), 0);
}

TEST(AtBytes, IsLinearBetweenPointsWithALatencyAndARateBeyond) {
  const Curve curve = {{100, 1}, {300, 3}, {1000, 5}};
  EXPECT_DOUBLE_EQ(at_bytes(curve, 0), 1);
  EXPECT_DOUBLE_EQ(at_bytes(curve, 100), 1);
  EXPECT_DOUBLE_EQ(at_bytes(curve, 200), 2);
  EXPECT_DOUBLE_EQ(at_bytes(curve, 650), 4);
  EXPECT_DOUBLE_EQ(at_bytes(curve, 1000), 5);
  EXPECT_DOUBLE_EQ(at_bytes(curve, 4000), 20);
}

}  // namespace
}  // namespace parabench::analytic
