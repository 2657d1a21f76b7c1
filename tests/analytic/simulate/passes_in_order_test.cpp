#include "analytic/simulate/passes_in_order.h"

#include <gtest/gtest.h>

#include "analytic/simulate/simulate.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

/// Seconds by kind and rank; a forward takes half as long again on rank 1.
double chain_seconds(Rank rank, const plan::Op& op, int) {
  const KindSeconds of_kind{.message = 0.25};
  return (1 + 0.5 * rank.value * (op.kind == plan::OpKind::forward)) * of_kind(rank, op, 1);
}

std::unique_ptr<const TimeModel> chain_times(int cores = 0) {
  return std::make_unique<HandCosts>(chain_seconds, cores);
}

plan::Plan unrolled(const std::string& strategy, int ranks, int micro_batches, int steps) {
  return plan::unroll(pipeline(strategy, ranks, micro_batches), steps);
}

TEST(SimulateSilent, RanksComputeWithoutWaiting) {
  for (const std::string& strategy : schedules_serving(4, 8)) {
    const plan::Plan plan = pipeline(strategy, 4, 8);
    const HandCosts costs(KindSeconds{.message = 10, .all_reduce = 10});
    const plan::Timeline timeline = simulate_silent(plan, costs);
    for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
      double work = 0;
      for (const plan::Op& op : plan.ranks[rank].compute()) work += costs.seconds(plan, Rank(0), op, 1);
      EXPECT_DOUBLE_EQ(timeline.ranks[rank][0].back().end, work) << strategy << " " << rank;
      EXPECT_EQ(timeline.ranks[rank][0].front().start, 0) << strategy << " " << rank;
    }
  }
}

TEST(SimulateSilent, RanksStillShareTheirCores) {
  const plan::Plan plan = pipeline("gpipe", 2, 4);
  const auto beside_others = [](Rank rank, const plan::Op& op, int busy) {
    return busy * KindSeconds{}(rank, op, busy);
  };
  EXPECT_DOUBLE_EQ(plan::makespan(simulate_silent(plan, HandCosts(beside_others))), 12);
  EXPECT_DOUBLE_EQ(plan::makespan(simulate_silent(plan, HandCosts(beside_others, 1))), 24);
}

TEST(PassSeconds, AreTheMeanOfAStepsPassesAndTheMedianOverSteps) {
  const plan::Plan plan = unrolled("1f1b", 2, 2, 4);
  plan::Timeline timeline = simulate_silent(plan, HandCosts(KindSeconds{}));
  const std::vector<plan::Op>& ops = plan.ranks[1].compute();
  std::vector<plan::Span>& spans = timeline.ranks[1][0];
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind != plan::OpKind::backward) continue;
    const double of_micro_batch = ops[i].micro_batch.value == 0 ? 1 : 3;
    const double of_step[] = {100, 10, 20, 60};
    spans[i] = {.start = 5, .end = 5 + of_micro_batch * of_step[ops[i].step.value] + 7, .data_wait = 7};
  }
  const std::vector<PassSeconds> passes = pass_seconds(plan, timeline, StepId(1));
  EXPECT_EQ(passes, (std::vector<PassSeconds>{{Rank(0), SegmentId(0), plan::OpKind::forward, 1},
                                              {Rank(0), SegmentId(0), plan::OpKind::backward, 2},
                                              {Rank(1), SegmentId(1), plan::OpKind::forward, 1},
                                              {Rank(1), SegmentId(1), plan::OpKind::backward, 40}}));
}

TEST(TimesInOrder, WhatSilentStepsTakeIsPredictedOfThemAgain) {
  for (const std::string& strategy : schedules_serving(4, 8)) {
    for (const int cores : {0, 2, 4}) {
      const plan::Plan plan = unrolled(strategy, 4, 8, 3);
      std::vector<PassSeconds> measured = pass_seconds(plan, simulate_silent(plan, *chain_times(cores)), StepId(1));
      for (PassSeconds& pass : measured) pass.seconds *= 1.25;
      const auto times = times_in_order(chain_times(cores), plan, StepId(1), measured);
      const std::vector<PassSeconds> again = pass_seconds(plan, simulate_silent(plan, *times), StepId(1));
      ASSERT_EQ(again.size(), measured.size());
      for (std::size_t i = 0; i < again.size(); ++i)
        EXPECT_NEAR(again[i].seconds, measured[i].seconds, 1e-9) << strategy << " on " << cores;
    }
  }
}

TEST(TimesInOrder, OnlyThePassesThatWereMeasuredTakeAnotherTime) {
  const plan::Plan plan = unrolled("gpipe", 2, 4, 2);
  const auto times =
      times_in_order(chain_times(), plan, StepId(1), {{Rank(1), SegmentId(1), plan::OpKind::forward, 3}});
  const std::unique_ptr<const TimeModel> of_chain = chain_times();
  for (Rank rank(0); rank.value < 2; ++rank)
    for (const plan::Lane& lane : plan.ranks[rank.value].lanes)
      for (const plan::Op& op : lane.ops) {
        const double longer = rank == Rank(1) && op.kind == plan::OpKind::forward ? 2 : 1;
        EXPECT_EQ(times->seconds(plan, rank, op, 1), longer * of_chain->seconds(plan, rank, op, 1));
      }
}

TEST(TimesInOrder, WaitingAndMessagesAreStillPredicted) {
  const plan::Plan plan = unrolled("gpipe", 2, 4, 1);
  const std::vector<PassSeconds> measured = pass_seconds(plan, simulate_silent(plan, *chain_times()), StepId(0));
  const auto times = times_in_order(chain_times(), plan, StepId(0), measured);
  EXPECT_DOUBLE_EQ(plan::makespan(simulate(plan, *times)), plan::makespan(simulate(plan, *chain_times())));
  EXPECT_GT(plan::makespan(simulate(plan, *times)), plan::makespan(simulate_silent(plan, *times)));
}

}  // namespace
}  // namespace parabench::analytic
