#include "analytic/simulate/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "analytic/closed_forms/closed_forms.h"
#include "analytic/costs/costs.h"
#include "base/error.h"
#include "parallelism/plan/dependencies.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

double end_of(const plan::Plan& plan, const TimeModel& costs) { return plan::makespan(simulate(plan, costs)); }

TEST(Simulate, PipelinesUnderUnitCostsMatchTheirClosedForm) {
  for (int stages = 1; stages <= 8; ++stages) {
    for (int m = 1; m <= 16; ++m) {
      EXPECT_DOUBLE_EQ(plan::makespan(simulate(gpipe(stages, m), *unit_costs().time)), 3.0 * (m + stages - 1))
          << stages << ' ' << m;
      EXPECT_DOUBLE_EQ(plan::makespan(simulate(pipedream(stages, m), *unit_costs().time)), 3.0 * (m + stages - 1))
          << stages << ' ' << m;
    }
  }
}

TEST(Simulate, UnitCostsSpreadAStageOverItsSegments) {
  EXPECT_NEAR(plan::makespan(simulate(test_plan(case_of("sequential", 1, 4), 7), *unit_costs().time)), 3, 1e-12);
}

TEST(Simulate, ModelParallelIsSequential) {
  EXPECT_DOUBLE_EQ(plan::makespan(simulate(test_plan(case_of("model-parallel", 4, 8), 4), *unit_costs().time)), 12);
}

TEST(Simulate, GpipeWithUnequalStagesIsExact) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> seconds(.1, 3);
  for (int round = 0; round < 50; ++round) {
    const int stages = 1 + round % 8, m = 1 + round % 13;
    std::vector<double> forwards, backwards;
    for (int s = 0; s < stages; ++s) {
      forwards.push_back(seconds(random));
      backwards.push_back(seconds(random));
    }
    const HandCosts costs([&](Rank rank, const plan::Op& op, int) {
      if (op.kind == plan::OpKind::forward) return forwards[rank.value];
      return op.kind == plan::OpKind::backward ? backwards[rank.value] : 0.0;
    });
    EXPECT_NEAR(end_of(gpipe(stages, m), costs), gpipe_unequal(forwards, backwards, m), 1e-9);
  }
}

TEST(Simulate, LatencyOfTwoStagesMatchesTheClosedForms) {
  const double c = .25;
  const HandCosts costs(KindSeconds{.message = c});
  for (int m = 2; m <= 16; ++m) {
    EXPECT_NEAR(end_of(gpipe(2, m), costs), 3 * (m + 1) + 2 * c, 1e-9) << m;
    EXPECT_NEAR(end_of(pipedream(2, m), costs), 3 * (m + 1) + 2 * c * (1 + (m - 2) - (m - 2) / 2), 1e-9) << m;
  }
}

TEST(Simulate, CopiesOfAPipelineTakeAsLongAsOne) {
  for (const std::string& strategy : schedules_serving(4, 8)) {
    Case spec = case_of(strategy, 2 * 4, 2 * 8, 8);
    spec.dp = 2;
    const plan::Plan plan = test_plan(spec, 16), alone = pipeline(strategy, 4, 8);
    EXPECT_NEAR(plan::makespan(simulate(plan, *unit_costs().time)), plan::makespan(simulate(alone, *unit_costs().time)),
                1e-9)
        << strategy;
  }
}

TEST(Simulate, ReductionsBetweenCopiesOverlapTheBackwardsThatFollow) {
  Case spec = case_of("gpipe", 4, 4, 2);
  spec.dp = 2;
  spec.bucket = Bytes(1);
  const KindSeconds seconds{.forward = .5, .backward = 1, .all_reduce = .25};
  // Two layers per stage: of the last backward's gradients only the reduction of the first layer is left at the end.
  EXPECT_NEAR(end_of(test_plan(spec, 4), HandCosts(seconds)), 3 * 3 + .25, 1e-9);
}

TEST(Simulate, MessagesOfOneLaneFollowEachOther) {
  // Each takes as long as four forwards: the last of four arrives after 1 + 4 * 4.
  const plan::Plan plan = gpipe(2, 4);
  const plan::Timeline t = simulate(plan, HandCosts(KindSeconds{.message = 4}));
  EXPECT_DOUBLE_EQ(spans(plan, t, 1, plan::LaneKind::receive, plan::Payload::activation).back().end, 17);
}

TEST(Simulate, SpansStartWhenTheOperationWasPosted) {
  const plan::Plan plan = gpipe(2, 2);
  const plan::Timeline t = simulate(plan, HandCosts(KindSeconds{.message = .5}));
  const auto& receives = spans(plan, t, 1, plan::LaneKind::receive, plan::Payload::activation);
  EXPECT_EQ(receives[0], (plan::Span{.queued = 0, .start = 0, .end = 1.5}));
  EXPECT_EQ(receives[1], (plan::Span{.queued = 1.5, .start = 1.5, .end = 2.5}));
  EXPECT_EQ(t.ranks[1][plan::compute_lane][0], (plan::Span{.queued = 0, .start = 1.5, .end = 2.5}));
}

// start_i = max(ready_i, end_{i-1}), end_i = start_i + T_AR(b_i).
TEST(Simulate, DataParallelOverlapsReductionsInBucketOrder) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> seconds(.1, 2);
  for (int round = 0; round < 50; ++round) {
    const int layers = 1 + round % 7, ranks = 2 + round % 3;
    std::vector<double> forwards(layers), backwards(layers), reductions(layers), updates(layers);
    for (auto* times : {&forwards, &backwards, &reductions, &updates}) {
      for (double& t : *times) t = seconds(random);
    }
    const HandCosts costs([&](Rank, const plan::Op& op, int) {
      const int l = op.segment.value;
      if (op.kind == plan::OpKind::forward) return forwards[l];
      if (op.kind == plan::OpKind::backward) return backwards[l];
      return op.kind == plan::OpKind::all_reduce ? reductions[l] : updates[l];
    });
    double ready = 0, reduced = 0;
    for (const double t : forwards) ready += t;
    std::vector<double> ends(layers);
    for (int l = layers - 1; l >= 0; --l) {
      ready += backwards[l];
      ends[l] = reduced = std::max(ready, reduced) + reductions[l];
    }
    double expected = ready;
    for (int l = layers - 1; l >= 0; --l) expected = std::max(expected, ends[l]) + updates[l];
    EXPECT_NEAR(end_of(data_parallel(ranks, layers), costs), expected, 1e-9);
  }
}

TEST(Simulate, SharesAreGatheredBesideTheUpdatesThatFollow) {
  const HandCosts costs(KindSeconds{.forward = 0, .backward = 0, .all_reduce = 2, .update = 1});
  Case spec = case_of("zero1", 2, 2);
  spec.bucket = Bytes(1);
  const plan::Plan plan = plan::unroll(test_plan(spec, 2), 2);
  const plan::Timeline t = simulate(plan, costs);
  // Buckets are scattered at 2 and 4 and updated at 3 and 5; the first is gathered meanwhile, at 5, the second at 7.
  const auto& gathers = spans(plan, t, 1, plan::LaneKind::collectives, plan::Payload::parameters);
  EXPECT_EQ(gathers[0], (plan::Span{.queued = 0, .start = 3, .end = 5}));
  EXPECT_EQ(gathers[1], (plan::Span{.queued = 5, .start = 5, .end = 7}));
  const auto& ops = plan.ranks[1].compute();
  const auto next = std::ranges::find_if(ops, [](const plan::Op& op) { return op.step == StepId(1); });
  EXPECT_EQ(t.ranks[1][plan::compute_lane][next - ops.begin()].start, 7)
      << "the next step reads what is gathered last first";
}

TEST(Simulate, ACollectiveWaitsForTheLastReplica) {
  const HandCosts costs([](Rank rank, const plan::Op& op, int) {
    return op.kind == plan::OpKind::forward ? 1.0 + rank.value : op.kind == plan::OpKind::all_reduce ? .5 : 0.0;
  });
  const plan::Plan plan = data_parallel(3, 1);
  const plan::Timeline t = simulate(plan, costs);
  for (int rank : {0, 1, 2})
    EXPECT_DOUBLE_EQ(spans(plan, t, rank, plan::LaneKind::collectives, plan::Payload::gradients)[0].end, 3.5);
}

TEST(Simulate, IsDeterministic) {
  const auto jitter = [](Rank rank, const plan::Op& op, int busy) {
    return .1 * ((rank.value * 7 + static_cast<int>(op.kind) * 3 + op.micro_batch.value * 5) % 11) * (1 + .3 * busy);
  };
  for (const plan::Plan& plan : {gpipe(5, 9), pipedream(4, 9), data_parallel(4, 5)}) {
    for (const int cores : {0, 2, 64}) {
      const plan::Timeline a = simulate(plan, HandCosts(jitter, cores)), b = simulate(plan, HandCosts(jitter, cores));
      EXPECT_EQ(a.ranks, b.ranks);
    }
  }
}

TEST(Simulate, EveryOperationEndsAfterWhatItWaitsFor) {
  const plan::Plan plan = plan::unroll(gpipe(4, 5), 3);
  const plan::Timeline t = simulate(plan, HandCosts(KindSeconds{.message = .1, .update = .2}, 2));
  for (const auto& rank : t.ranks) {
    for (const auto& lane : rank) {
      for (std::size_t i = 0; i < lane.size(); ++i) {
        EXPECT_LE(lane[i].queued, lane[i].start);
        EXPECT_LE(lane[i].start, lane[i].end);
        EXPECT_EQ(lane[i].queued, i == 0 ? 0 : lane[i - 1].end);
      }
    }
  }
}

std::string error_of(const plan::Plan& plan) {
  try {
    simulate(plan, *unit_costs().time);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
    return e.what();
  }
  return "no error";
}

TEST(Simulate, NamesTheOperationsOfADeadLock) {
  plan::Plan plan = gpipe(2, 2);
  auto& compute = plan.ranks[0].compute();
  std::swap(compute[1], compute[2]);  // F0 B0 F1 B1 on rank 0 against F0 F1 B0 B1 on rank 1
  EXPECT_THAT(error_of(plan),
              AllOf(HasSubstr("dead-lock"), HasSubstr("rank 0 waits at 0B0"), HasSubstr("rank 1 waits at 1F1")));
}

TEST(Simulate, MessagesThatAreNoPairNeverMeet) {
  plan::Plan plan = gpipe(2, 2);
  auto& receives = ops(plan, 1, plan::LaneKind::receive, plan::Payload::activation);
  std::swap(receives[0], receives[1]);
  EXPECT_THAT(error_of(plan),
              AllOf(HasSubstr("0SEND_F0 of step 0 on send:activation:1 (posted)"), HasSubstr("1RECV_F1")));
}

TEST(Simulate, ReductionsOfDifferentSegmentsNeverMeet) {
  plan::Plan plan = data_parallel(2, 2);
  auto& reductions = ops(plan, 1, plan::LaneKind::collectives, plan::Payload::gradients);
  std::swap(reductions[0], reductions[1]);
  EXPECT_THAT(error_of(plan), HasSubstr("dead-lock"));
}

}  // namespace
}  // namespace parabench::analytic
