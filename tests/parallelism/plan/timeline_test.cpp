#include "parallelism/plan/timeline.h"

#include <gmock/gmock.h>

#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::ElementsAre;

void expect_near(const Breakdown& got, const Breakdown& expected) {
  EXPECT_NEAR(got.forward, expected.forward, 1e-12);
  EXPECT_NEAR(got.backward, expected.backward, 1e-12);
  EXPECT_NEAR(got.update, expected.update, 1e-12);
  EXPECT_NEAR(got.bubble, expected.bubble, 1e-12);
  EXPECT_NEAR(got.communication_exposed, expected.communication_exposed, 1e-12);
  EXPECT_NEAR(got.data_wait, expected.data_wait, 1e-12);
  EXPECT_NEAR(got.other, expected.other, 1e-12);
}

double total(const Breakdown& b) {
  return b.forward + b.backward + b.recompute + b.update + b.communication_exposed + b.bubble + b.data_wait + b.other;
}

/// Two stages, one micro-batch, by hand; the clock starts at 100.
///   rank 0 compute  F 0-1                              B 6-8   U 8-9
///   activation            1-1.5
///   gradient                            4.5-6 (5.5 on arrival)
///   rank 1 compute            F 1.5-2.5  B 2.5-4.5  U 4.5-5
struct HandMade {
  Plan plan = test_plan(case_of("model-parallel", 2, 4), 2);
  Timeline timeline;
  HandMade() {
    timeline.origin = 100;
    for (const RankProgram& rank : plan.ranks) timeline.ranks.emplace_back(rank.lanes.size());
    set(0, LaneKey{}, {{100, 100, 101}, {101, 106, 108}, {108, 108, 109}});
    set(0, sends_to(Rank(1), Payload::activation), {{100, 101, 101.5}});
    set(0, receives_from(Rank(1), Payload::activation_gradient), {{100, 104.5, 106}});
    set(1, LaneKey{}, {{100, 101.5, 102.5}, {102.5, 102.5, 104.5}, {104.5, 104.5, 105}});
    set(1, receives_from(Rank(0), Payload::activation), {{100, 101, 101.5}});
    set(1, sends_to(Rank(0), Payload::activation_gradient), {{100, 104.5, 106}});
  }
  void set(int rank, const LaneKey& lane, std::vector<Span> spans) {
    timeline.ranks[rank][plan.ranks[rank].find_lane(lane)] = std::move(spans);
  }
  Span& compute(int rank, int i) { return timeline.ranks[rank][compute_lane][i]; }
};

TEST(Timeline, MakespanAndBubbleFractionCountFromTheOrigin) {
  const HandMade by_hand;
  EXPECT_DOUBLE_EQ(makespan(by_hand.timeline), 9.0);
  EXPECT_THAT(step_completions(by_hand.plan, by_hand.timeline), ElementsAre(109.0));
  EXPECT_DOUBLE_EQ(bubble_fraction(by_hand.plan, by_hand.timeline), 1.0 - 6.0 / 18.0);
}

TEST(Timeline, WaitsSplitWhereTheAwaitedWorkEndedElsewhere) {
  const HandMade by_hand;
  expect_near(breakdown(by_hand.plan, by_hand.timeline, Rank(0), StepId(0)),
              {.forward = 1, .backward = 2, .update = 1, .communication_exposed = 1.5, .bubble = 3.5});
  expect_near(breakdown(by_hand.plan, by_hand.timeline, Rank(1), StepId(0)),
              {.forward = 1, .backward = 2, .update = .5, .communication_exposed = .5, .bubble = 1});
}

TEST(Timeline, WaitingForDataIsNotComputing) {
  HandMade by_hand;
  by_hand.compute(0, 0).data_wait = .25;
  expect_near(
      breakdown(by_hand.plan, by_hand.timeline, Rank(0), StepId(0)),
      {.forward = .75, .backward = 2, .update = 1, .communication_exposed = 1.5, .bubble = 3.5, .data_wait = .25});
}

TEST(Timeline, TimeThatNoDependencyExplainsIsOther) {
  HandMade by_hand;
  by_hand.compute(0, 1).queued = 101.125;                                // the loop took its time
  by_hand.compute(0, 2) = {.queued = 108, .start = 108.25, .end = 109};  // ready at once, yet started late
  expect_near(
      breakdown(by_hand.plan, by_hand.timeline, Rank(0), StepId(0)),
      {.forward = 1, .backward = 2, .update = .75, .communication_exposed = 1.5, .bubble = 3.375, .other = .375});
}

/// Two replicas whose backwards end at 3 and 4; the reduction takes one second, so the early rank waits one second of
/// bubble.
TEST(Timeline, AReductionIsExposedFromTheLastArrivalOn) {
  const Plan plan = test_plan(case_of("data-parallel", 2, 4), 1);
  Timeline timeline;
  for (const RankProgram& rank : plan.ranks) timeline.ranks.emplace_back(rank.lanes.size());
  const auto set = [&](int rank, double ready) {
    timeline.ranks[rank][compute_lane] = {{0, 0, 1}, {1, 1, ready}, {ready, 5, 5.5}};
    timeline.ranks[rank][plan.ranks[rank].find_lane(collectives_of(GroupId(0), Payload::gradients))] = {{0, ready, 5}};
  };
  set(0, 3);
  set(1, 4);
  expect_near(breakdown(plan, timeline, Rank(0), StepId(0)),
              {.forward = 1, .backward = 2, .update = .5, .communication_exposed = 1, .bubble = 1});
  expect_near(breakdown(plan, timeline, Rank(1), StepId(0)),
              {.forward = 1, .backward = 3, .update = .5, .communication_exposed = 1});
}

TEST(Timeline, SteadyStepsLeaveTheFirstOnesOut) {
  const Plan plan = unroll(gpipe_of(2, 2, 4), 4);
  const Timeline timeline = timeline_of(plan, {.update = .5});
  const auto all = breakdowns(plan, timeline, StepId(2));
  ASSERT_EQ(all.size(), 2u);
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(all[r], breakdown(plan, timeline, Rank(r), StepId(2)));
    expect_near(all[r], {.forward = 2, .backward = 4, .update = .5, .bubble = 3});
  }
}

TEST(Timeline, BreakdownsAddUpToTheTimeOfTheRank) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> cost(0.0, 1.0);
  for (int round = 0; round < 100; ++round) {
    const Plan plan = random_plan(random);
    const Timeline timeline =
        timeline_of(plan, {cost(random) + .1, cost(random) + .1, cost(random), cost(random), cost(random)});
    const auto all = breakdowns(plan, timeline, StepId(0));
    for (std::size_t r = 0; r < all.size(); ++r) {
      const auto& compute = timeline.ranks[r][compute_lane];
      const double end = compute.empty() ? 0 : compute.back().end;
      EXPECT_NEAR(total(all[r]) * plan.steps, end, 1e-9);
      EXPECT_NEAR(all[r].other, 0.0, 1e-12);
    }
  }
}

TEST(Timeline, FreeMessagesExposeNoCommunication) {
  std::mt19937 random(4);
  for (int round = 0; round < 100; ++round) {
    const Plan plan = random_plan(random);
    for (const Breakdown& b : breakdowns(plan, timeline_of(plan), StepId(0)))
      EXPECT_NEAR(b.communication_exposed, 0.0, 1e-12);
  }
}

TEST(Timeline, OperationsInAnyOrderWereQueuedWhenTheirWorkerGotFree) {
  std::vector<Span> lane{{0, 5, 6}, {0, 1, 3}, {0, 4, 5}};
  queue_on_workers(lane, 1, .5);
  EXPECT_THAT(lane, ElementsAre(Span{5, 5, 6}, Span{.5, 1, 3}, Span{3, 4, 5}));
  lane = {{0, 1, 4}, {0, 2, 3}, {0, 4, 5}, {0, 3.5, 6}};
  queue_on_workers(lane, 2, 0);
  EXPECT_THAT(lane, ElementsAre(Span{0, 1, 4}, Span{0, 2, 3}, Span{4, 4, 5}, Span{3, 3.5, 6}));
}

}  // namespace
}  // namespace parabench::plan
