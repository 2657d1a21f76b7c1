#include "analytic/simulate/rehearsal.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "analytic/costs/times_of.h"
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

TEST(SimulateFreeExchanges, RanksWaitForEachOthersPassesAlone) {
  for (const std::string& strategy : schedules_serving(4, 8)) {
    const plan::Plan plan = pipeline(strategy, 4, 8);
    const HandCosts costly(KindSeconds{.message = 10, .all_reduce = 10}), free(KindSeconds{});
    EXPECT_EQ(simulate_free_exchanges(plan, costly).ranks, simulate(plan, free).ranks) << strategy;
  }
}

TEST(SimulateFreeExchanges, RanksStillShareTheirCores) {
  const plan::Plan plan = pipeline("gpipe", 2, 4);
  const auto beside_others = [](Rank rank, const plan::Op& op, int busy) {
    return busy * KindSeconds{.message = 1}(rank, op, busy);
  };
  EXPECT_DOUBLE_EQ(plan::makespan(simulate_free_exchanges(plan, HandCosts(beside_others))), 15);
  EXPECT_DOUBLE_EQ(plan::makespan(simulate_free_exchanges(plan, HandCosts(beside_others, 1))), 24) << "all by turns";
}

TEST(ComputeSeconds, LeaveOutWaitingForSamples) {
  plan::Timeline timeline;
  timeline.ranks = {{{{.start = 1, .end = 3}, {.start = 4, .end = 9, .data_wait = 2}}, {{.start = 0, .end = 1}}},
                    {{{.start = 2, .end = 2}}}};
  EXPECT_EQ(compute_seconds(timeline), (ComputeSeconds{{2, 3}, {0}}));
}

/// Predicts rehearsals again whose operations take `longer()` as long as by the chain.
void expect_predicted(int cores, const std::function<double()>& longer) {
  for (const std::string& strategy : schedules_serving(4, 8)) {
    const plan::Plan plan = unrolled(strategy, 4, 8, 3);
    ComputeSeconds measured = compute_seconds(simulate_free_exchanges(plan, *chain_times(cores)));
    for (std::vector<double>& of_rank : measured)
      for (double& seconds : of_rank) seconds *= longer();
    const auto times = times_rehearsed(chain_times(cores), plan, measured);
    const ComputeSeconds again = compute_seconds(simulate_free_exchanges(plan, *times));
    for (std::size_t rank = 0; rank < measured.size(); ++rank)
      for (std::size_t i = 0; i < measured[rank].size(); ++i)
        EXPECT_NEAR(again[rank][i], measured[rank][i], 1e-9) << strategy << " on " << cores;
  }
}

TEST(TimesRehearsed, WhatRehearsalsTakeIsPredictedOfThemAgain) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> longer(0.8, 1.4);
  for (const int cores : {0, 4}) expect_predicted(cores, [&] { return longer(random); });
}

TEST(TimesRehearsed, SoItIsOfRanksThatShareCoresAndAreAllAsMuchLonger) {
  for (const int cores : {1, 2}) expect_predicted(cores, [] { return 1.25; });
}

TEST(TimesRehearsed, EachOperationOfEachStepHasItsOwnTime) {
  const plan::Plan plan = unrolled("gpipe", 2, 4, 2);
  ComputeSeconds measured = compute_seconds(simulate_free_exchanges(plan, *chain_times()));
  measured[1][2] *= 2;
  const auto times = times_rehearsed(chain_times(), plan, measured);
  const std::unique_ptr<const TimeModel> of_chain = chain_times();
  for (Rank rank(0); rank.value < 2; ++rank)
    for (const plan::Lane& lane : plan.ranks[rank.value].lanes)
      for (std::size_t i = 0; i < lane.ops.size(); ++i) {
        const bool is_changed = rank == Rank(1) && lane.key.kind == plan::LaneKind::compute && i == 2;
        EXPECT_DOUBLE_EQ(times->seconds(plan, rank, lane.ops[i], 1),
                         (is_changed ? 2 : 1) * of_chain->seconds(plan, rank, lane.ops[i], 1));
      }
}

TEST(TimesRehearsed, OperationsOfFurtherStepsTakeWhatTheyDoByTheChain) {
  const plan::Plan rehearsed = unrolled("gpipe", 2, 4, 2), longer = unrolled("gpipe", 2, 4, 3);
  ComputeSeconds measured = compute_seconds(simulate_free_exchanges(rehearsed, *chain_times()));
  for (std::vector<double>& of_rank : measured)
    for (double& seconds : of_rank) seconds *= 2;
  const auto times = times_rehearsed(chain_times(), rehearsed, measured);
  for (const plan::Op& op : longer.ranks[1].compute())
    EXPECT_DOUBLE_EQ(times->seconds(longer, Rank(1), op, 1),
                     (op.step < StepId(2) ? 2 : 1) * chain_times()->seconds(longer, Rank(1), op, 1));
}

TEST(TimesRehearsed, HowFarRepetitionsAreApartIsInWhatWasMeasured) {
  class Apart final : public TimesOf {
   public:
    Apart() : TimesOf(chain_times()) {}
    TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy) const override {
      return base_.parts(plan, rank, op, busy);
    }
    double deviation_s(const plan::Plan&, Rank, const plan::Op&, int) const override { return 0.1; }
  };
  const plan::Plan plan = unrolled("gpipe", 2, 4, 2);
  const ComputeSeconds measured = compute_seconds(simulate_free_exchanges(plan, Apart()));
  const auto times = times_rehearsed(std::make_unique<Apart>(), plan, measured);
  for (const plan::Op& op : plan.ranks[0].compute())
    EXPECT_EQ(times->deviation_s(plan, Rank(0), op, 1), op.kind == plan::OpKind::update ? 0.1 : 0)
        << "updates are free";
}

TEST(TimesRehearsed, WaitingAndMessagesAreStillPredicted) {
  const plan::Plan plan = unrolled("gpipe", 2, 4, 1);
  const ComputeSeconds measured = compute_seconds(simulate_free_exchanges(plan, *chain_times()));
  const auto times = times_rehearsed(chain_times(), plan, measured);
  EXPECT_DOUBLE_EQ(plan::makespan(simulate(plan, *times)), plan::makespan(simulate(plan, *chain_times())));
  EXPECT_GT(plan::makespan(simulate(plan, *times)), plan::makespan(simulate_free_exchanges(plan, *times)));
}

}  // namespace
}  // namespace parabench::analytic
