#include "datasets/cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace parabench::datasets {
namespace {

Cut cut_of(int width, int height, int draw) {
  return random_cut(width, height, Draws(1, DrawPurpose::augmentation, draw, 0));
}

TEST(RandomCut, KeepsToTheImageTheAreasAndTheRatios) {
  double least_area = 1, greatest_area = 0, least_ratio = 9, greatest_ratio = 0;
  int flips = 0;
  constexpr int draws = 4000;
  for (int i = 0; i < draws; ++i) {
    const Cut cut = cut_of(500, 375, i);
    ASSERT_GE(cut.left, 0);
    ASSERT_GE(cut.top, 0);
    ASSERT_LE(cut.right, 500);
    ASSERT_LE(cut.bottom, 375);
    ASSERT_EQ(cut.limits, (Rect{int(cut.left), int(cut.top), int(cut.right), int(cut.bottom)}));
    const double area = cut.width() * cut.height() / (500 * 375), ratio = cut.width() / cut.height();
    least_area = std::min(least_area, area), greatest_area = std::max(greatest_area, area);
    least_ratio = std::min(least_ratio, ratio), greatest_ratio = std::max(greatest_ratio, ratio);
    flips += cut.flip;
  }
  EXPECT_NEAR(least_area, 0.08, 0.01);
  EXPECT_NEAR(greatest_area, 1, 0.03);
  EXPECT_NEAR(least_ratio, 0.75, 0.02);
  EXPECT_NEAR(greatest_ratio, 4.0 / 3, 0.02);
  EXPECT_NEAR(flips, draws / 2, 160);
}

TEST(RandomCut, ReachesEveryPlaceAlike) {
  double x = 0, y = 0;
  constexpr int draws = 4000;
  for (int i = 0; i < draws; ++i) {
    const Cut cut = cut_of(400, 400, i);
    x += (cut.left + cut.right) / 2 / draws;
    y += (cut.top + cut.bottom) / 2 / draws;
  }
  EXPECT_NEAR(x, 200, 5);
  EXPECT_NEAR(y, 200, 5);
}

TEST(RandomCut, FallsBackToTheLargestCentredBox) {
  const Cut wide = cut_of(1000, 10, 0);
  EXPECT_EQ(wide.limits, (Rect{493, 0, 506, 10}));
  const Cut tall = cut_of(10, 1000, 0);
  EXPECT_EQ(tall.limits, (Rect{0, 493, 10, 506}));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(cut_of(1, 1, i).limits, (Rect{0, 0, 1, 1}));
}

TEST(CentreCut, IsResizeThenCentreCropOfTorchvision) {
  // 500 x 375 is resized to 341 x 256; the crop of 224 starts at column round(58.5) = 58, row 16.
  const Cut wide = centre_cut(500, 375, 224);
  EXPECT_DOUBLE_EQ(wide.left, 58 * 500.0 / 341);
  EXPECT_DOUBLE_EQ(wide.right, (58 + 224) * 500.0 / 341);
  EXPECT_DOUBLE_EQ(wide.top, 16 * 375.0 / 256);
  EXPECT_DOUBLE_EQ(wide.bottom, 240 * 375.0 / 256);
  EXPECT_EQ(wide.limits, (Rect{0, 0, 500, 375}));
  EXPECT_FALSE(wide.flip);
  const Cut tall = centre_cut(375, 500, 224);
  EXPECT_DOUBLE_EQ(tall.top, 58 * 500.0 / 341);
  EXPECT_DOUBLE_EQ(tall.left, 16 * 375.0 / 256);
}

TEST(CentreCut, LiesInsideAnyImage) {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 5000}, {5000, 1}, {224, 224}, {30, 40}, {4000, 3000}}) {
    for (const int pixels : {1, 8, 32, 224}) {
      const Cut cut = centre_cut(width, height, pixels);
      EXPECT_GE(cut.left, 0);
      EXPECT_GE(cut.top, 0);
      EXPECT_LE(cut.right, width + 1e-9);
      EXPECT_LE(cut.bottom, height + 1e-9);
    }
  }
}

TEST(DecodeDenominator, KeepsAtLeastThePixelsOfTheSample) {
  const auto of = [](double width, double height) { return decode_denominator({0, 0, width, height, {}}, 224); };
  EXPECT_EQ(of(100, 100), 1);
  EXPECT_EQ(of(447, 600), 1);
  EXPECT_EQ(of(448, 448), 2);
  EXPECT_EQ(of(2000, 895), 2);
  EXPECT_EQ(of(896, 900), 4);
  EXPECT_EQ(of(1792, 1792), 8);
  EXPECT_EQ(of(20000, 20000), 8);
}

TEST(Reduced, CoversTheCutInTheSmallerImage) {
  const Cut cut{13, 7, 101, 90, {13, 7, 101, 90}, true};
  const Cut half = reduced(cut, 2);
  EXPECT_DOUBLE_EQ(half.left, 6.5);
  EXPECT_DOUBLE_EQ(half.bottom, 45);
  EXPECT_EQ(half.limits, (Rect{6, 3, 51, 45}));
  EXPECT_TRUE(half.flip);
}

TEST(Footprint, ReachesBeyondTheBoxButNotBeyondTheLimits) {
  EXPECT_EQ(footprint({10, 20, 40, 40, {0, 0, 50, 50}}, 10), (Rect{7, 18, 43, 42}));
  EXPECT_EQ(footprint({10, 20, 40, 40, {10, 20, 40, 40}}, 10), (Rect{10, 20, 40, 40}));
}

}  // namespace
}  // namespace parabench::datasets
