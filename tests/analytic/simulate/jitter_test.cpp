#include "analytic/simulate/jitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analytic/costs/costs.h"
#include "analytic/simulate/predict.h"
#include "base/statistics.h"
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
  constexpr int warmup = 2, steps = 40;
  const bool asynchronous = test_plan(case_of(strategy, ranks, 2 * ranks), 8).asynchronous;
  const plan::Plan plan = test_plan(case_of(strategy, ranks, 2 * ranks), 8, asynchronous ? warmup + steps : 1);
  return predict(plan, chain(8), time, *unit_costs().memory, warmup, steps).step_time_s;
}

plan::Op pass_of(int step) { return plan::forward(SegmentId(0), MicroBatchId(0), StepId(step), VersionId(0)); }

TEST(Jitter, MakesTheSlowestRankOfEveryStepAsSlowAsItIsInTheMeanAndNoRankSlowerOverTwoSteps) {
  for (const int ranks : {2, 3, 8}) {
    const plan::Plan plan = data_parallel(ranks, 8);
    const Unsteady base(.1);
    const Jittered jittered(base, plan);
    for (int step = 0; step < 4; step += 2) {
      double slowest = 0;
      for (Rank rank; rank.value < ranks; ++rank) {
        const double even = jittered.seconds(plan, rank, pass_of(step), 2);
        EXPECT_DOUBLE_EQ(even + jittered.seconds(plan, rank, pass_of(step + 1), 2), 2);
        slowest = std::max(slowest, even);
      }
      EXPECT_DOUBLE_EQ(slowest, 1 + normal_scores(ranks).back() * .1 * deviation_per_mad);
    }
  }
}

TEST(Jitter, OfRanksThatMeetOnceInARoundAddsUpAsOfStepsThatKnowNothingOfEachOther) {
  Case spec = case_of("local-sgd", 2, 4);
  spec.strategy.parameters = {{"every", "4"}};
  const plan::Plan plan = test_plan(spec, 2);
  const Unsteady base(.1);
  const Jittered jittered(base, plan);
  for (const int round : {0, 1}) {
    double slowest = 0;
    for (Rank rank; rank.value < 2; ++rank) {
      double seconds = 0;
      for (int step = 4 * round; step < 4 * round + 4; ++step)
        seconds += jittered.seconds(plan, rank, pass_of(step), 2);
      slowest = std::max(slowest, seconds);
    }
    EXPECT_DOUBLE_EQ(slowest, 4 + std::sqrt(4) * normal_scores(2).back() * .1 * deviation_per_mad);
  }
}

TEST(Jitter, ServersTakeNoPartInIt) {
  const plan::Plan plan = test_plan(case_of("parameter-server", 3, 4), 2);
  const Unsteady base(.1);
  const Jittered jittered(base, plan);
  double slowest = 0;
  for (Rank rank; rank.value < std::ssize(plan.ranks); ++rank)
    if (std::ranges::find(plan.servers, rank) == plan.servers.end())
      slowest = std::max(slowest, jittered.seconds(plan, rank, pass_of(0), 2));
  EXPECT_DOUBLE_EQ(slowest, 1 + normal_scores(plan::computing_ranks(plan)).back() * .1 * deviation_per_mad);
}

TEST(Jitter, IsOfPassesAlone) {
  const plan::Plan plan = data_parallel(2, 8);
  const Unsteady base(.1);
  const Jittered jittered(base, plan);
  for (const plan::Lane& lane : plan.ranks[0].lanes) {
    for (const plan::Op& op : lane.ops) {
      const double seconds = base.seconds(plan, Rank(0), op, 2);
      if (plan::is_pass(op.kind)) {
        EXPECT_NE(jittered.seconds(plan, Rank(0), op, 2), seconds);
      } else {
        EXPECT_EQ(jittered.seconds(plan, Rank(0), op, 2), seconds);
      }
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

TEST(Jitter, IsAsLargeForAnOddNumberOfStepsAsForAnEvenOne) {
  for (const std::string strategy : {"data-parallel", "1f1b"}) {
    const plan::Plan plan = test_plan(case_of(strategy, 4, 16), 8);
    const auto steps = [&](int measured) {
      return predict(plan, chain(8), Unsteady(.3), *unit_costs().memory, 1, measured).step_time_s;
    };
    EXPECT_DOUBLE_EQ(steps(3), steps(4)) << strategy;
  }
}

TEST(Jitter, IsAsLargeForAnOddNumberOfRoundsAsForAnEvenOneWhereRanksAreUnequal) {
  Case spec = case_of("local-sgd", 2, 4);
  spec.strategy.parameters = {{"every", "4"}};
  const plan::Plan plan = test_plan(spec, 8);
  const HandCosts unequal(
      [](Rank rank, const plan::Op& op, int) { return plan::is_pass(op.kind) ? (rank == Rank(0) ? 1.05 : 1.0) : 0.0; },
      64);
  class Uneven final : public TimesOf {
   public:
    explicit Uneven(const TimeModel& base) : TimesOf(base) {}
    TimeParts parts(const plan::Plan& p, Rank rank, const plan::Op& op, int busy) const override {
      return base_.parts(p, rank, op, busy);
    }
    double deviation_s(const plan::Plan&, Rank, const plan::Op&, int) const override { return .1; }
    std::string source() const override { return "calibrated"; }
  };
  const auto steps = [&](int measured) {
    return predict(plan, chain(8), Uneven(unequal), *unit_costs().memory, 4, measured).step_time_s;
  };
  EXPECT_DOUBLE_EQ(steps(4), steps(8));
  EXPECT_DOUBLE_EQ(steps(12), steps(16));
}

TEST(Jitter, IsPartlyMadeUpForByRanksThatRunAheadOfEachOther) {
  const Unsteady steady(0), unsteady(.1);
  const auto longer = [&](const std::string& strategy) {
    return step_s(strategy, 2, unsteady) / step_s(strategy, 2, steady);
  };
  EXPECT_GT(longer("data-parallel"), 1.05);
  EXPECT_LT(longer("pipedream-2bw"), longer("data-parallel"));
}

TEST(Jitter, LeavesARankAloneAndRanksWithoutDeviationAsTheyAre) {
  EXPECT_EQ(step_s("sequential", 1, Unsteady(.1)), step_s("sequential", 1, Unsteady(0)));
  const plan::Plan plan = test_plan(case_of("zero3", 4, 8), 8);
  const Unsteady steady(0);
  EXPECT_DOUBLE_EQ(predict(plan, chain(8), steady, *unit_costs().memory, 2, 10).step_time_s, 24);
}

}  // namespace
}  // namespace parabench::analytic
