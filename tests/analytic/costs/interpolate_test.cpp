#include "analytic/costs/interpolate.h"

#include <gtest/gtest.h>

#include <vector>

namespace parabench::analytic {
namespace {

double forward_of(const LayerTiming& t) { return t.forward_s; }

double counted(std::vector<LayerTiming> timings, int samples) { return counted_at(timings, samples, forward_of); }
double timed(std::vector<LayerTiming> timings, int samples) { return timed_at(timings, samples, forward_of); }

TEST(AtSamples, ReturnsWhatWasMeasured) {
  const std::vector<LayerTiming> t = {
      {.samples = 2, .forward_s = 3}, {.samples = 4, .forward_s = 4}, {.samples = 16, .forward_s = 20}};
  for (const LayerTiming& point : t) {
    EXPECT_DOUBLE_EQ(counted(t, point.samples), point.forward_s);
    EXPECT_DOUBLE_EQ(timed(t, point.samples), point.forward_s);
  }
}

TEST(AtSamples, IsLinearBetweenNeighbours) {
  const std::vector<LayerTiming> t = {
      {.samples = 2, .forward_s = 3}, {.samples = 4, .forward_s = 4}, {.samples = 16, .forward_s = 28}};
  for (const auto at : {counted, timed}) {
    EXPECT_DOUBLE_EQ(at(t, 3), 3.5);
    EXPECT_DOUBLE_EQ(at(t, 10), 16);
  }
}

TEST(AtSamples, CountsGrowAsBetweenTheNearestPair) {
  const std::vector<LayerTiming> t = {
      {.samples = 2, .forward_s = 3}, {.samples = 4, .forward_s = 4}, {.samples = 16, .forward_s = 28}};
  EXPECT_DOUBLE_EQ(counted(t, 20), 36);  // 4 + 2 (20 - 4)
  EXPECT_DOUBLE_EQ(counted(t, 1), 2.5);  // t_floor 2, t_sample .5
}

TEST(AtSamples, TimesOnALineGrowAsItDoes) {
  const std::vector<LayerTiming> t = {
      {.samples = 2, .forward_s = 3}, {.samples = 4, .forward_s = 4}, {.samples = 16, .forward_s = 10}};
  EXPECT_NEAR(timed(t, 32), 18, 1e-12);
  EXPECT_NEAR(timed(t, 1), 2.5, 1e-12);
}

TEST(AtSamples, ATimeThatIsOffIsNotCarriedFar) {
  // One second a sample, but for the larger of two near points, which is a tenth too long.
  const std::vector<LayerTiming> t = {
      {.samples = 2, .forward_s = 2}, {.samples = 14, .forward_s = 14}, {.samples = 16, .forward_s = 17.6}};
  EXPECT_GT(counted(t, 64), 64 * 1.5) << "by the pair";
  EXPECT_NEAR(timed(t, 64), 64 * 1.1, 2);
}

TEST(AtSamples, OnePointScalesInProportion) {
  for (const auto at : {counted, timed}) EXPECT_DOUBLE_EQ(at({{.samples = 8, .forward_s = 4}}, 2), 1);
}

TEST(AtSamples, ALaunchFloorIsNeverNegative) {
  // The line through (4, 4) and (8, 12) would be -2 at 1.
  const std::vector<LayerTiming> t = {{.samples = 4, .forward_s = 4}, {.samples = 8, .forward_s = 12}};
  for (const auto at : {counted, timed}) EXPECT_DOUBLE_EQ(at(t, 1), 1);
  EXPECT_DOUBLE_EQ(timed(t, 16), 24) << "in proportion to the nearest";
}

TEST(AtSamples, NoiseCannotMakeALargeBatchFree) {
  const std::vector<LayerTiming> t = {{.samples = 4, .forward_s = 4}, {.samples = 8, .forward_s = 1}};
  EXPECT_DOUBLE_EQ(counted(t, 64), 0);
  EXPECT_DOUBLE_EQ(timed(t, 64), 1) << "no less than the nearest";
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
