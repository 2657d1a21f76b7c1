// A model of time without one of its terms.
#include "analytic/costs/ablation.h"

#include <gtest/gtest.h>

#include <utility>

#include "analytic/costs/costs.h"
#include "analytic/costs/emulation.h"
#include "analytic/costs/times_of.h"
#include "analytic/simulate/predict.h"
#include "analytic/simulate/simulate.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

constexpr MicroBatchId m0{0};

/// Every part of every operation is there; two busy ranks slow each other to a half.
class AllParts final : public TimeModel {
 public:
  TimeParts parts(const plan::Plan&, Rank, const plan::Op&, int busy) const override {
    return busy * TimeParts{.compute = 16, .launch = 8, .memory = 4, .latency = 2, .transfer = 1};
  }
  double deviation_s(const plan::Plan&, Rank, const plan::Op&, int) const override { return 3; }
  int cores() const override { return 2; }
  std::string source() const override { return "calibrated"; }
};

/// The same, with figures of exchanges beside computing and of loaders.
class AllFigures final : public TimesOf {
 public:
  AllFigures() : TimesOf(std::make_unique<AllParts>()) {}
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy) const override {
    return base_.parts(plan, rank, op, busy);
  }
  BesideComputing beside_computing(const plan::Plan&, Rank, const plan::Op&) const override { return {.slowdown = 7}; }
  double load_s_per_sample(const plan::Plan&, int) const override { return 5; }
};

const TimeParts alone{.compute = 16, .launch = 8, .memory = 4, .latency = 2, .transfer = 1};
const plan::Op forward = plan::forward(SegmentId(0), m0, StepId(0), VersionId(0));
const plan::Op sum = plan::all_reduce(SegmentId(0), 4, StepId(0), GroupId(0));
const plan::Op message = plan::send_forward(SegmentId(0), m0, StepId(0), Rank(1));
const plan::Op update = plan::update(SegmentId(0), 1, StepId(0), VersionId(0));

TimeParts parts(AblatedTerm term, const plan::Op& op, int busy = 1) {
  static const plan::Plan plan = data_parallel(4, 4);
  return without(term, AllParts())->parts(plan, Rank(0), op, busy);
}

TEST(Ablation, TakesAwayTheTermAloneAndLeavesOtherOperations) {
  TimeParts no_latency = alone, no_gradients = alone, no_overhead = alone;
  no_latency.latency = no_gradients.memory = no_overhead.launch = 0;
  const TimeParts nothing;
  struct Expected {
    AblatedTerm term;
    TimeParts of_forward, of_sum, of_message, of_update;
  };
  for (const auto& [term, of_forward, of_sum, of_message, of_update] :
       {Expected{AblatedTerm::sharing, alone, alone, alone, alone},
        Expected{AblatedTerm::memory, alone, alone, alone, alone},
        Expected{AblatedTerm::messages, alone, alone, nothing, alone},
        Expected{AblatedTerm::collectives, alone, nothing, alone, alone},
        Expected{AblatedTerm::latency, alone, no_latency, no_latency, alone},
        Expected{AblatedTerm::updates, alone, alone, alone, nothing},
        Expected{AblatedTerm::gradients, no_gradients, alone, alone, alone},
        Expected{AblatedTerm::overhead, no_overhead, alone, alone, no_overhead},
        Expected{AblatedTerm::jitter, alone, alone, alone, alone},
        Expected{AblatedTerm::beside, alone, alone, alone, alone},
        Expected{AblatedTerm::loading, alone, alone, alone, alone}}) {
    EXPECT_EQ(parts(term, forward), of_forward) << to_text(term);
    EXPECT_EQ(parts(term, sum), of_sum) << to_text(term);
    EXPECT_EQ(parts(term, message), of_message) << to_text(term);
    EXPECT_EQ(parts(term, update), of_update) << to_text(term);
  }
}

TEST(Ablation, WithoutMemoryPassesLoseTheirShareOfTheCoresAlone) {
  // All four take four times as long as one, half of it since they share two cores.
  EXPECT_DOUBLE_EQ(parts(AblatedTerm::memory, forward, 4).total(), 2 * alone.total());
  EXPECT_EQ(parts(AblatedTerm::memory, update, 4), 4 * alone);
}

TEST(Ablation, WithoutJitterNoPassDeviates) {
  const plan::Plan plan = data_parallel(4, 4);
  for (const auto& [term, deviation_s] : {std::pair{AblatedTerm::jitter, 0.0}, std::pair{AblatedTerm::updates, 3.0}})
    EXPECT_EQ(without(term, AllParts())->deviation_s(plan, Rank(0), forward, 1), deviation_s);
}

TEST(Ablation, OfExchangesBesideComputingAndOfLoadersTakesAwayTheirFiguresAlone) {
  const plan::Plan plan = data_parallel(4, 4);
  for (const AblatedTerm term : enum_values<AblatedTerm>) {
    const AllFigures all;
    const auto time = without(term, all);
    EXPECT_EQ(time->beside_computing(plan, Rank(0), sum).slowdown, term == AblatedTerm::beside ? 0 : 7)
        << to_text(term);
    EXPECT_EQ(time->load_s_per_sample(plan, 1), term == AblatedTerm::loading ? 0 : 5) << to_text(term);
  }
}

TEST(Ablation, WithoutSharingEveryRankTakesTheTimeThatItTakesAlone) {
  EXPECT_EQ(parts(AblatedTerm::sharing, forward, 2), alone);
  EXPECT_EQ(parts(AblatedTerm::updates, forward, 2), 2 * alone);
  EXPECT_EQ(without(AblatedTerm::updates, AllParts())->cores(), 2);
  const auto exclusive = exclusive_times(std::make_unique<AllParts>());
  for (const plan::Plan& plan : {gpipe(4, 4), data_parallel(4, 4)}) {
    const double seconds = plan::makespan(simulate(plan, *exclusive));
    EXPECT_NEAR(plan::makespan(simulate(plan, *without(AblatedTerm::sharing, AllParts()))), seconds, 1e-9 * seconds);
  }
}

TEST(Ablation, WithoutSharingRanksJitterAllTheSame) {
  const plan::Plan plan = data_parallel(4, 4);
  const auto step_s = [&](const std::unique_ptr<const TimeModel>& time) {
    return predict(plan, chain(4), *time, *unit_costs().memory, 2, 4).step_time_s;
  };
  // Ranks that update while others sum run ahead of each other, which makes up for jitter.
  const AllParts whole;
  const auto apart = without(AblatedTerm::sharing, whole), unshared = without(AblatedTerm::updates, *apart);
  EXPECT_GT(step_s(unshared), step_s(without(AblatedTerm::jitter, *unshared)));
}

TEST(Ablation, OfEveryTermMakesAStepNoLonger) {
  for (const plan::Plan& plan : {gpipe(4, 4), data_parallel(4, 4)}) {
    const double whole = plan::makespan(simulate(plan, AllParts()));
    for (const AblatedTerm term : enum_values<AblatedTerm>)
      EXPECT_LE(plan::makespan(simulate(plan, *without(term, AllParts()))), whole * (1 + 1e-12)) << to_text(term);
  }
}

}  // namespace
}  // namespace parabench::analytic
