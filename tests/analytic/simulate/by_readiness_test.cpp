#include "analytic/simulate/by_readiness.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <vector>

#include "analytic/costs/costs.h"
#include "analytic/simulate/simulate.h"
#include "parallelism/plan/dependencies.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

plan::Plan futurized(plan::Plan plan, int workers = 1) {
  plan.spec.executor = ExecutorKind::futurized;
  plan.spec.threads = workers;
  return plan;
}

/// Seconds of the forwards and backwards of each rank.
HandCosts by_rank(std::vector<double> forward, std::vector<double> backward, double message = 0) {
  return HandCosts([=](Rank rank, const plan::Op& op, int) {
    if (op.kind == plan::OpKind::forward) return forward[rank.value];
    if (op.kind == plan::OpKind::backward) return backward[rank.value];
    return plan::is_message(op.kind) ? message : 0.0;
  });
}

double seconds(const plan::Plan& plan, const TimeModel& time) { return plan::makespan(simulate(plan, time)); }

TEST(ByReadiness, EqualStagesLeaveNothingToChoose) {
  const plan::Plan plan = gpipe(4, 8);
  EXPECT_EQ(simulate(futurized(plan), *unit_costs().time).ranks[3][0].front().start, 3);
  EXPECT_DOUBLE_EQ(seconds(futurized(plan), *unit_costs().time), seconds(plan, *unit_costs().time));
}

// p0 F0 F0 F0 F1 F1 F1 B0 .  .  B1
// p1 .  .  .  F0 B0 B0 F1 B1 B1
TEST(ByReadiness, ARankDoesWhatIsThereWhileTheNextInThePlanIsNot) {
  const HandCosts costs = by_rank({3, 1}, {1, 2});
  EXPECT_DOUBLE_EQ(seconds(gpipe(2, 2), costs), 12);
  const plan::Timeline timeline = simulate(futurized(gpipe(2, 2)), costs);
  EXPECT_DOUBLE_EQ(plan::makespan(timeline), 10);
  const auto& second = timeline.ranks[1][plan::compute_lane];  // F0 F1 B0 B1 UPDATE
  EXPECT_EQ(second[1].start, 6);
  EXPECT_EQ(second[2].start, 4);
  EXPECT_EQ(second[1].queued, 6) << "the worker came from B0";
  EXPECT_EQ(second[3].queued, 7);
}

TEST(ByReadiness, InFlightLimitsLeaveOneForwardOneBackwardAsItIs) {
  const HandCosts costs = by_rank({3, 1}, {1, 2});
  EXPECT_DOUBLE_EQ(seconds(futurized(pipeline("1f1b", 2, 4)), costs), seconds(pipeline("1f1b", 2, 4), costs));
}

// One stage on one rank: F1 runs beside B0.
TEST(ByReadiness, SeveralWorkersComputeSeveralOperationsOfARank) {
  const HandCosts costs = by_rank({1}, {1});
  EXPECT_DOUBLE_EQ(seconds(futurized(gpipe(1, 2)), costs), 4);
  EXPECT_DOUBLE_EQ(seconds(futurized(gpipe(1, 2), 2), costs), 3);
}

TEST(ByReadiness, TheNextStepStartsWhereTheUpdateAllowsIt) {
  const plan::Plan plan = plan::unroll(futurized(data_parallel(2, 3)), 2);
  const HandCosts costs([](Rank, const plan::Op& op, int) {
    if (op.kind == plan::OpKind::all_reduce) return 1.0;
    return plan::is_pass(op.kind) ? 1.0 : 0.0;
  });
  const plan::Timeline timeline = simulate(plan, costs);
  for (Rank r : {Rank(0), Rank(1)}) {
    const plan::LocalDependencies needs = plan::dependencies(plan, r);
    const auto& ops = plan.ranks[r.value].compute();
    for (int i = 0; i < std::ssize(ops); ++i) {
      for (const plan::OpRef& ref : needs.of(plan::compute_lane, i))
        EXPECT_GE(timeline.ranks[r.value][0][i].start, timeline.ranks[r.value][ref.lane][ref.index].end);
    }
  }
}

/// How many of the spans overlap at most.
int most_at_once(const std::vector<plan::Span>& spans) {
  int most = 0;
  for (const plan::Span& at : spans) {
    const auto runs = [&](const plan::Span& s) { return s.start <= at.start && at.start < s.end; };
    most = std::max(most, static_cast<int>(std::ranges::count_if(spans, runs)));
  }
  return most;
}

TEST(ByReadiness, NoWorkerHasTwoOperationsAndEveryWaitIsExplained) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> some(.1, 3);
  for (const std::string& strategy : schedules_serving(2, 4)) {
    for (const int workers : {1, 3}) {
      for (const int cores : {0, 2}) {
        std::vector<double> forward{some(random), some(random)}, backward{some(random), some(random)};
        const HandCosts costs(
            [&](Rank rank, const plan::Op& op, int) {
              if (plan::is_message(op.kind)) return .05;
              return op.kind == plan::OpKind::forward ? forward[rank.value] : backward[rank.value];
            },
            cores);
        const plan::Plan plan = plan::unroll(futurized(pipeline(strategy, 2, 4), workers), 3);
        const plan::Timeline timeline = simulate(plan, costs);
        for (const auto& rank : timeline.ranks) EXPECT_LE(most_at_once(rank[plan::compute_lane]), workers);
        const std::vector<Breakdown> parts = plan::breakdowns(plan, timeline, StepId(0));
        for (const Breakdown& b : parts) {
          EXPECT_GE(b.bubble, 0);
          if (workers > 1) continue;
          EXPECT_NEAR(b.other, 0, 1e-9) << strategy;
        }
      }
    }
  }
}

TEST(ByReadiness, APlanThatCannotEndIsRefused) {
  plan::Plan plan = futurized(gpipe(2, 2));
  plan.ranks[0].lanes.back().ops.pop_back();  // its last receive
  EXPECT_ANY_THROW(simulate(plan, *unit_costs().time));
}

}  // namespace
}  // namespace parabench::analytic
