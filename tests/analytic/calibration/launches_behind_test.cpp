#include "analytic/calibration/launches_behind.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analytic/calibration/combine.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

/// A pipeline of two layers, which differ as a first layer does from others, on two ranks.
class LaunchesBehindTest : public testing::Test {
 protected:
  /// A launch in which the layers took so many seconds each, at one sample; 0: it did not measure the layer.
  static Calibration launch(const std::string& date, double first_s, double second_s, double canary_s = 1e-4) {
    const plan::Plan plan = pipeline("gpipe", 2, 2);
    const Sizes sizes{chain(2)};
    Calibration one;
    one.date = date;
    one.ranks = 2;
    one.canary = Canary{canary_s, 5e-3, 0, 0};
    const double seconds[] = {first_s, second_s};
    for (int layer = 0; layer < 2; ++layer) {
      if (seconds[layer] == 0) continue;
      one.layers[layer_key(sizes.signature(layer), layer == 0, plan.spec, 2)] = {
          {.samples = 1, .forward_s = seconds[layer] / 4, .backward_s = 3 * seconds[layer] / 4},
          {.samples = 8, .forward_s = 100}};
    }
    return one;
  }
  std::vector<LayerRow> rows(const Calibration& calibration) const { return layer_rows(calibration, sizes_, plan_); }
  std::optional<LaunchesBehind> behind(const Calibration& calibration) const {
    return launches_behind(calibration, rows(calibration));
  }
  std::optional<double> canary(const Calibration& calibration) const {
    return calibrated_matrix_product(calibration, rows(calibration), plan_.spec.np);
  }

  plan::Plan plan_ = pipeline("gpipe", 2, 2);
  Sizes sizes_{chain(2)};
};

TEST_F(LaunchesBehindTest, OfOneLaunchTheSpreadIsUnknown) {
  EXPECT_EQ(behind(launch("a", 1, 3)), (LaunchesBehind{1, "a", "a", std::nullopt}));
}

TEST_F(LaunchesBehindTest, TheSpreadIsTheStandardDeviationOfTheModelsSums) {
  const Calibration all = combined({launch("c", 1, 4), launch("a", 1, 2), launch("b", 2, 2)});
  const auto found = behind(all);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->launches, 3);
  EXPECT_EQ(found->first_date, "a");
  EXPECT_EQ(found->last_date, "c");
  // Of 5, 3 and 4 it is 1; their median 4.
  ASSERT_TRUE(found->spread);
  EXPECT_DOUBLE_EQ(*found->spread, 1. / 4);
}

TEST_F(LaunchesBehindTest, LaunchesThatDifferByLayersAloneHaveNoSpreadBetweenThem) {
  const auto found = behind(combined({launch("a", 1, 3), launch("b", 3, 1)}));
  ASSERT_TRUE(found && found->spread);
  EXPECT_DOUBLE_EQ(*found->spread, 0);
}

TEST_F(LaunchesBehindTest, TheLayerThatFewestMeasuredCounts) {
  const auto two = behind(combined({launch("a", 1, 3), launch("b", 2, 0), launch("c", 1, 6)}));
  ASSERT_TRUE(two && two->spread);
  EXPECT_EQ(two->launches, 2);
  EXPECT_EQ(two->last_date, "c");
  EXPECT_DOUBLE_EQ(*two->spread, std::sqrt(4.5) / 5.5) << "of 4 and 7, the launches that measured both";
  const auto apart = behind(combined({launch("a", 1, 0), launch("b", 0, 3)}));
  EXPECT_EQ(apart, (LaunchesBehind{1, "a", "b", std::nullopt}));
}

TEST_F(LaunchesBehindTest, NobodyIsBehindALayerThatWasNotMeasured) {
  EXPECT_TRUE(rows(launch("a", 1, 0)).empty());
  EXPECT_FALSE(behind(launch("a", 1, 0)));
  EXPECT_FALSE(canary(launch("a", 1, 0)));
}

TEST_F(LaunchesBehindTest, TheCanaryIsTheMedianOfEachLayersLaunchesByTheLayersSeconds) {
  // The first layer: canaries 1, 2 and 5, its median 1 s; the second: 1 and 5, its median 3 s.
  const Calibration all = combined({launch("a", 1, 3, 1), launch("b", 1, 0, 2), launch("c", 1, 3, 5)});
  ASSERT_TRUE(canary(all));
  EXPECT_DOUBLE_EQ(*canary(all), (1 * 2 + 3 * 3) / 4.);
  EXPECT_DOUBLE_EQ(*canary(launch("a", 1, 3, 1e-4)), 1e-4);
}

TEST_F(LaunchesBehindTest, TheCanaryIsThatOfLaunchesOfAsManyRanks) {
  const auto changed = [&](void (*change)(Calibration&)) {
    Calibration other = launch("b", 1, 3, 5);
    change(other);
    return other;
  };
  for (const Calibration& other :
       {changed([](Calibration& old) { old.ranks.reset(); }), changed([](Calibration& of_four) { of_four.ranks = 4; }),
        changed([](Calibration& gpu) { gpu.canary.reset(); })}) {
    EXPECT_EQ(canary(combined({launch("a", 1, 3, 1), other})), 1);
    EXPECT_FALSE(canary(other));
  }
}

TEST_F(LaunchesBehindTest, ALaunchIsComparedWithWhatWasKnownOfItsLayers) {
  Calibration before = combined({launch("a", 1, 3), launch("b", 3, 5)});
  Calibration now = launch("c", 3, 6);
  for (auto& [key, timings] : now.layers) timings.back() = {.samples = 16, .forward_s = 100};
  const Remeasured again = remeasured(before, now);
  EXPECT_EQ(again.known.size(), 2u);
  EXPECT_EQ(again.unknown.size(), 2u) << "another number of samples";
  EXPECT_DOUBLE_EQ(again.relative, 9. / 6 - 1);
  const Remeasured first = remeasured({}, now);
  EXPECT_TRUE(first.known.empty());
  EXPECT_EQ(first.unknown.size(), 4u);
}

}  // namespace
}  // namespace parabench::analytic
