#include "analytic/simulate/jitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analytic/costs/costs.h"
#include "analytic/simulate/predict.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

/// Forwards of 1 s and backwards of 2 s, on cores enough for all; sums take no time.
class Unsteady final : public TimeModel {
 public:
  explicit Unsteady(double deviation_s, int cores = 64) : deviation_s_(deviation_s), cores_(cores) {}
  TimeParts parts(const plan::Plan&, Rank rank, const plan::Op& op, int busy) const override {
    return {.compute = KindSeconds()(rank, op, busy)};
  }
  double deviation_s(const plan::Plan&, Rank, const plan::Op&, int) const override { return deviation_s_; }
  int cores() const override { return cores_; }
  std::string source() const override { return "calibrated"; }

 private:
  double deviation_s_;
  int cores_;
};

double step_s(const std::string& strategy, int ranks, const TimeModel& time) {
  const plan::Plan plan = test_plan(case_of(strategy, ranks, 2 * ranks), 8);
  return predict(plan, chain(8), time, *unit_costs().memory, 2, 40).step_time_s;
}

TEST(Jitter, HasTheDeviationsSpreadAroundTheTimeAndTheSameAnswerToTheSameQuestion) {
  const plan::Plan plan = data_parallel(2, 8);
  const Unsteady base(.1);
  const Jittered jittered(base);
  double sum = 0, squares = 0, least = 9, most = 0;
  constexpr int draws = 20000;
  for (int step = 0; step < draws; ++step) {
    const plan::Op op = plan::forward(SegmentId(step % 8), MicroBatchId(0), StepId(step), VersionId(0));
    const double seconds = jittered.seconds(plan, Rank(1), op, 2);
    ASSERT_EQ(seconds, jittered.seconds(plan, Rank(1), op, 2));
    sum += seconds, squares += seconds * seconds;
    least = std::min(least, seconds), most = std::max(most, seconds);
  }
  const double mean = sum / draws;
  EXPECT_NEAR(mean, 1, .005);
  EXPECT_NEAR(std::sqrt(squares / draws - mean * mean), .14826, .003);
  EXPECT_GT(least, 1 - 3.5 * .14826);
  EXPECT_LT(most, 1 + 3.5 * .14826);
}

TEST(Jitter, DiffersFromRankToRankAndIsOfPassesAlone) {
  const plan::Plan plan = data_parallel(2, 8);
  const Unsteady base(.1);
  const Jittered jittered(base);
  const plan::Op pass = plan::forward(SegmentId(0), MicroBatchId(0), StepId(0), VersionId(0));
  EXPECT_NE(jittered.seconds(plan, Rank(0), pass, 2), jittered.seconds(plan, Rank(1), pass, 2));
  for (const plan::Lane& lane : plan.ranks[0].lanes) {
    for (const plan::Op& op : lane.ops) {
      if (plan::is_pass(op.kind)) continue;
      EXPECT_EQ(jittered.seconds(plan, Rank(0), op, 2), base.seconds(plan, Rank(0), op, 2));
    }
  }
}

TEST(Jitter, MakesRanksWaitForTheSlowestTheMoreOfThemThereAre) {
  const Unsteady steady(0), unsteady(.1);
  const auto longer = [&](int ranks) {
    return step_s("data-parallel", ranks, unsteady) / step_s("data-parallel", ranks, steady);
  };
  EXPECT_GT(longer(2), 1);
  EXPECT_GT(longer(4), longer(2));
  EXPECT_GT(longer(16), longer(4));
}

TEST(Jitter, LeavesARankAloneAndRanksWithoutDeviationAsTheyAre) {
  EXPECT_EQ(step_s("sequential", 1, Unsteady(.1)), step_s("sequential", 1, Unsteady(0)));
  const plan::Plan plan = test_plan(case_of("zero3", 4, 8), 8);
  const Unsteady steady(0);
  EXPECT_DOUBLE_EQ(predict(plan, chain(8), steady, *unit_costs().memory, 2, 10).step_time_s, 24);
}

}  // namespace
}  // namespace parabench::analytic
