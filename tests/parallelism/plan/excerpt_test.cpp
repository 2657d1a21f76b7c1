#include "parallelism/plan/excerpt.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

/// Operations one after the other, as long as their step says, each rank a quarter of a second behind the one before.
Timeline stairs(const Plan& plan, const std::vector<double>& seconds_of_step) {
  Timeline timeline;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    auto& lanes = timeline.ranks.emplace_back();
    for (const Lane& lane : plan.ranks[r].lanes) {
      double now = 100 + 0.25 * static_cast<double>(r);
      auto& spans = lanes.emplace_back();
      for (const Op& op : lane.ops) {
        const double seconds = seconds_of_step.at(op.step.value);
        spans.push_back({now, now, now + seconds});
        now += seconds;
      }
    }
  }
  timeline.origin = 100;
  return timeline;
}

TEST(Excerpt, IsTheStepOfMedianDurationFromTheFirstBeginOn) {
  const Plan plan = unroll(test_plan(case_of("model-parallel", 2, 4), 2), 4);
  const auto cut = excerpt(plan, stairs(plan, {9, 3, 1, 2}), StepId(1)).value();
  EXPECT_EQ(cut.first_step, 3);
  EXPECT_EQ(cut.last_step, 3);
  ASSERT_EQ(cut.ranks.size(), 2u);
  const std::vector<TimedAction> first = {{"F0", 0, 2}, {"B0", 2, 4}, {"U", 4, 6}};
  const std::vector<TimedAction> second = {{"F0", 0.25, 2.25}, {"B0", 2.25, 4.25}, {"U", 4.25, 6.25}};
  EXPECT_EQ(cut.ranks[0], first);
  EXPECT_EQ(cut.ranks[1], second);
}

TEST(Excerpt, OfMiniBatchesThatOverlapAreAsManyAsThereAreRanks) {
  const Plan plan = test_plan(case_of("pipedream", 3, 4), 3, 8);
  const auto cut = excerpt(plan, stairs(plan, std::vector<double>(8, 1.0)), StepId(2)).value();
  EXPECT_EQ(cut.last_step - cut.first_step, 2);
  EXPECT_LT(cut.last_step, 8);
}

TEST(Excerpt, TooManyActionsAreNone) {
  const Plan plan = test_plan(case_of("gpipe", 2, most_excerpt_actions, most_excerpt_actions), 2);
  EXPECT_EQ(excerpt(plan, stairs(plan, {1}), StepId(0)), std::nullopt);
}

}  // namespace
}  // namespace parabench::plan
