// Ranks that compute, send and sum at the same time on a host's cores.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "analytic/costs/times_of.h"
#include "analytic/simulate/simulate.h"
#include "parallelism/plan/dependencies.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

double end_of(const plan::Plan& plan, const TimeModel& costs) { return plan::makespan(simulate(plan, costs)); }

TEST(SharedCores, CommunicationSlowsComputingOnTheRanksOwnCores) {
  const KindSeconds seconds{.forward = 1, .backward = 1, .all_reduce = 1};
  // F F B, then the first reduction beside the second backward, then the second reduction.
  EXPECT_DOUBLE_EQ(end_of(data_parallel(2, 2), HandCosts(seconds, 0)), 5);
  // Ranks are bound to a core each, whatever others there are.
  for (const int cores : {2, 3, 4, 64}) EXPECT_DOUBLE_EQ(end_of(data_parallel(2, 2), HandCosts(seconds, cores)), 6);
  plan::Plan plan = data_parallel(2, 2);
  plan.spec.threads = 2;
  EXPECT_DOUBLE_EQ(end_of(plan, HandCosts(seconds, 64)), 3 + 1.5 + 1) << "three threads on two cores";
}

TEST(SharedCores, OfSeveralHostsEachBindsItsRanksOrNot) {
  // Three ranks on a host of two cores share these; the fourth has one of the other's to itself.
  const KindSeconds seconds{.forward = 1, .backward = 1, .all_reduce = 1};
  plan::Plan plan = data_parallel(4, 2);
  plan.placement = {{0, 0, 0, 1}};
  const plan::Timeline t = simulate(plan, HandCosts(seconds, 2));
  EXPECT_DOUBLE_EQ(plan::makespan(t), 3 + 2 + 1) << "six threads on the first host, measured with three";
  const auto& own = t.ranks[3][plan::compute_lane];
  EXPECT_DOUBLE_EQ(own[3].end - own[3].start, 2) << "half a core beside the sum";
}

TEST(SharedCores, RanksThatDoNotFitShareTheCoresOfTheHost) {
  // Measured with three on two cores; six threads beside each other want twice as many.
  const KindSeconds seconds{.forward = 1, .backward = 1, .all_reduce = 1};
  EXPECT_DOUBLE_EQ(end_of(data_parallel(3, 2), HandCosts(seconds, 2)), 3 + 2 + 1);
}

/// Sums that take so many times as long while every rank computes.
class SlowedSums final : public TimeModel {
 public:
  SlowedSums(double slowdown, KindSeconds seconds, std::optional<double> lost_share = {})
      : beside_{slowdown, lost_share}, seconds_(seconds) {}
  TimeParts parts(const plan::Plan&, Rank rank, const plan::Op& op, int busy) const override {
    return {.compute = seconds_(rank, op, busy)};
  }
  BesideComputing beside_computing(const plan::Plan&, Rank, const plan::Op&) const override { return beside_; }
  int cores() const override { return 2; }
  std::string source() const override { return "unit"; }

 private:
  BesideComputing beside_;
  KindSeconds seconds_;
};

TEST(SharedCores, AnExchangeBesideComputingTakesAsMuchLongerAsItWasMeasured) {
  const plan::Plan plan = data_parallel(2, 2);
  for (const double slowdown : {1.25, 1.5, 2.0, 3.0, 5.0}) {
    // The backward beside the first sum is longer than that.
    const SlowedSums costs(slowdown, {.forward = 1, .backward = 20, .all_reduce = 1});
    const plan::Timeline t = simulate(plan, costs);
    const auto sums = spans(plan, t, 0, plan::LaneKind::collectives, plan::Payload::gradients);
    EXPECT_NEAR(sums[0].end - sums[0].start, slowdown, 1e-12);
    // It takes from computing what it needs, however long it waits for that; the second one has the cores to itself.
    EXPECT_NEAR(plan::makespan(t), 2 + 20 + 20 + 1 + 1, 1e-12) << slowdown;
  }
}

TEST(SharedCores, ComputingLosesAsMuchToAnExchangeAsWasMeasured) {
  const plan::Plan plan = data_parallel(2, 2);
  for (const double lost_share : {0.0, 0.25, 0.5, 0.75}) {
    const SlowedSums costs(2, {.forward = 1, .backward = 20, .all_reduce = 1}, lost_share);
    const plan::Timeline t = simulate(plan, costs);
    const auto sums = spans(plan, t, 0, plan::LaneKind::collectives, plan::Payload::gradients);
    EXPECT_NEAR(sums[0].end - sums[0].start, 2, 1e-5);
    EXPECT_NEAR(plan::makespan(t), 2 + 20 + (2 * lost_share + 20) + 1, 1e-4) << lost_share;
  }
}

TEST(SharedCores, RanksThatTakeTurnsOnACoreLoseAShareOfTheirTurns) {
  // Four ranks on two cores: the first sum takes half of what computing has, the second one is alone.
  const SlowedSums costs(2, {.forward = 1, .backward = 20, .all_reduce = 1}, 0.5);
  const plan::Plan plan = data_parallel(4, 2);
  const plan::Timeline t = simulate(plan, costs);
  const auto sums = spans(plan, t, 0, plan::LaneKind::collectives, plan::Payload::gradients);
  const double sum_s = sums[0].end - sums[0].start;
  EXPECT_NEAR(plan::makespan(t), 2 + 20 + (0.5 * sum_s + 20) + 1, 1e-4);
}

TEST(SharedCores, AnExchangeThatComputingDoesNotSlowDownTakesItsCoresFirst) {
  const SlowedSums costs(1, {.forward = 1, .backward = 20, .all_reduce = 1});
  const plan::Plan plan = data_parallel(2, 2);
  const plan::Timeline t = simulate(plan, costs);
  EXPECT_NEAR(spans(plan, t, 0, plan::LaneKind::collectives, plan::Payload::gradients)[0].end, 2 + 20 + 1, 0.1);
  EXPECT_NEAR(plan::makespan(t), 44, 1e-12);
}

TEST(SharedCores, UnknownSlowdownsAreEqualParts) {
  const KindSeconds seconds{.forward = 1, .backward = 3, .all_reduce = 1};
  EXPECT_DOUBLE_EQ(end_of(data_parallel(2, 2), SlowedSums(0, seconds)),
                   end_of(data_parallel(2, 2), HandCosts(seconds, 2)));
  EXPECT_DOUBLE_EQ(end_of(data_parallel(2, 2), SlowedSums(2, seconds)),
                   end_of(data_parallel(2, 2), HandCosts(seconds, 2)));
}

TEST(SharedCores, AMessageTakesACoreAtEachEnd) {
  // One core for both ranks: beside F1 of rank 0 the two ends of the message of F0, which was measured with both.
  const HandCosts costs(KindSeconds{.forward = 1, .backward = 0, .message = .5}, 1);
  const plan::Plan plan = gpipe(2, 2);
  const plan::Timeline t = simulate(plan, costs);
  EXPECT_DOUBLE_EQ(spans(plan, t, 1, plan::LaneKind::receive, plan::Payload::activation)[0].end, 1.75);
}

TEST(SharedCores, ARankWithACoreOfItsOwnSharesThatWithItsExchangesAlone) {
  // 2 cores, each bound to a rank: F1 of rank 0 has half of its own beside its end of the message of F0. So this takes
  // twice as long, though rank 1 has nothing else to do.
  const HandCosts costs(KindSeconds{.forward = 1, .backward = 0, .message = .5}, 2);
  const plan::Plan plan = gpipe(2, 2);
  const plan::Timeline t = simulate(plan, costs);
  EXPECT_DOUBLE_EQ(spans(plan, t, 1, plan::LaneKind::receive, plan::Payload::activation)[0].end, 2);
  EXPECT_DOUBLE_EQ(t.ranks[0][plan::compute_lane][1].end, 2.5);
}

/// Messages that rank 0, which computes, loses a quarter of its core to.
class SlowedMessages final : public TimeModel {
 public:
  TimeParts parts(const plan::Plan&, Rank rank, const plan::Op& op, int) const override {
    if (plan::is_message(op.kind)) return {.compute = 1};
    return {.compute = op.kind == plan::OpKind::forward && rank == Rank(0) ? 10.0 : 0.0};
  }
  BesideComputing beside_computing(const plan::Plan&, Rank, const plan::Op&) const override { return {3, .25}; }
  int cores() const override { return 2; }
  std::string source() const override { return "unit"; }
};

TEST(SharedCores, AMessageBesideComputingAtOneEndIsAsSlowAsItWasMeasured) {
  const plan::Plan plan = gpipe(2, 2);
  const plan::Timeline t = simulate(plan, SlowedMessages());
  // The first one beside F1; the second one when nobody computes any more.
  EXPECT_NEAR(spans(plan, t, 1, plan::LaneKind::receive, plan::Payload::activation)[0].end, 10 + 3, 1e-5);
  EXPECT_NEAR(t.ranks[0][plan::compute_lane][1].end, 10 + 3 * .25 + 10, 1e-5);
}

TEST(SharedCores, SecondsFollowTheNumberOfBusyRanksMomentByMoment) {
  // Ranks slow each other down to half; rank 1 has three times the work.
  const HandCosts costs(
      [](Rank rank, const plan::Op& op, int busy) {
        return op.kind == plan::OpKind::forward ? (rank == Rank(0) ? 1.0 : 3.0) * busy : 0.0;
      },
      8);
  const plan::Timeline t = simulate(data_parallel(2, 1), costs);
  EXPECT_DOUBLE_EQ(t.ranks[0][0][0].end, 2);
  EXPECT_DOUBLE_EQ(t.ranks[1][0][0].end, 4);  // a third done at 2, the rest alone in 2
}

TEST(SharedCores, UpdatesFollowTheNumberOfRanksThatMoveMemoryMomentByMoment) {
  const HandCosts costs(
      [](Rank rank, const plan::Op& op, int busy) {
        if (op.kind == plan::OpKind::update) return 1.0 * busy;
        if (op.kind == plan::OpKind::all_reduce) return 3.0;
        return op.kind == plan::OpKind::backward && rank == Rank(0) ? 10.0 : 0.0;
      },
      8);
  // After their sum both update; beside the backward of rank 0, rank 1 of a pipeline updates alone.
  EXPECT_DOUBLE_EQ(end_of(data_parallel(2, 1), costs), 10 + 3 + 2);
  const plan::Timeline pipeline = simulate(gpipe(2, 1), costs);
  const plan::Span& update = pipeline.ranks[1][plan::compute_lane].back();
  EXPECT_DOUBLE_EQ(update.end - update.start, 1);
  // The first update of two begins beside the second sum, in which two ranks take part, and shares its core with it.
  const HandCosts of_one(
      [](Rank, const plan::Op& op, int busy) {
        if (op.kind == plan::OpKind::update) return 1.0 * busy;
        return op.kind == plan::OpKind::all_reduce ? 3.0 : 0.0;
      },
      8);
  const plan::Timeline buckets = simulate(data_parallel(2, 2), of_one);
  const auto& lane = buckets.ranks[0][plan::compute_lane];
  EXPECT_DOUBLE_EQ(lane[lane.size() - 2].end - lane[lane.size() - 2].start, 2 * 2);
}

TEST(SharedCores, ContentionThatWasMeasuredIsNotChargedTwice) {
  // Two ranks on one core, measured as twice as slow together.
  const HandCosts costs(
      [](Rank, const plan::Op& op, int busy) { return op.kind == plan::OpKind::forward ? 1.0 * busy : 0.0; }, 1);
  EXPECT_DOUBLE_EQ(end_of(data_parallel(2, 1), costs), 2);
  // A reduction of two ranks on one core, measured so.
  const HandCosts reduction(
      [](Rank, const plan::Op& op, int) { return op.kind == plan::OpKind::all_reduce ? 3.0 : 0.0; }, 1);
  EXPECT_DOUBLE_EQ(end_of(data_parallel(2, 1), reduction), 3);
}

TEST(SharedCores, AnUpdateMeasuredAloneSharesTheCoreWithPassesOfOthers) {
  // Rank 1 of a pipeline updates beside the backward of rank 0, on one core: a pass of two ranks takes twice as long,
  // which is measured, an update of one does not.
  const HandCosts costs(
      [](Rank rank, const plan::Op& op, int busy) {
        if (op.kind == plan::OpKind::update) return 1.0 * busy;
        return op.kind == plan::OpKind::backward && rank == Rank(0) ? 10.0 * busy : 0.0;
      },
      1);
  const plan::Timeline pipeline = simulate(gpipe(2, 1), costs);
  const plan::Span& update = pipeline.ranks[1][plan::compute_lane].back();
  EXPECT_DOUBLE_EQ(update.end - update.start, 2);
  // Both update: what they do to each other was measured.
  EXPECT_DOUBLE_EQ(end_of(data_parallel(2, 1), costs), 10 + 2);
}

TEST(SharedCores, ThreadsOfARankCountAsDemand) {
  plan::Plan plan = data_parallel(2, 2);
  plan.spec.threads = 2;
  // 4 cores of compute and 2 of communication on 4 cores.
  const HandCosts costs(KindSeconds{.forward = 1, .backward = 1, .all_reduce = 1}, 4);
  EXPECT_DOUBLE_EQ(end_of(plan, costs), 3 + 1.5 + 1);
}

TEST(SharedCores, AreThoseOfAHost) {
  // Two ranks on one core take turns; on a core each they do not, nor does what one computes cost the other.
  plan::Plan plan = data_parallel(2, 1);
  const HandCosts costs(
      [](Rank, const plan::Op& op, int busy) { return op.kind == plan::OpKind::forward ? 1.0 + .5 * (busy - 1) : 0; },
      1);
  const double together = end_of(plan, costs);
  EXPECT_DOUBLE_EQ(together, 1.5);
  plan.placement = in_blocks(2, 2);
  EXPECT_DOUBLE_EQ(end_of(plan, costs), 1);
}

TEST(SharedCores, AMessageBetweenHostsSlowsComputingOnBoth) {
  // As AMessageTakesACoreAtEachEnd, but a core on each host: F1 beside the message of F0 has half of its own.
  plan::Plan plan = gpipe(2, 2);
  plan.placement = in_blocks(2, 2);
  const HandCosts costs(KindSeconds{.message = 1}, 1);
  const plan::Timeline t = simulate(plan, costs);
  EXPECT_DOUBLE_EQ(t.ranks[0][plan::compute_lane][1].end, 3);
}

TEST(SharedCores, GpusTakeNoCoresButSlowEachOtherAsMeasured) {
  plan::Plan plan = data_parallel(2, 1);
  plan.spec.device = DeviceKind::cuda;
  const HandCosts costs(
      [](Rank, const plan::Op& op, int busy) { return op.kind == plan::OpKind::all_reduce ? 3.0 : 1.0 * busy; }, 1);
  EXPECT_DOUBLE_EQ(end_of(plan, costs), 2 + 2 + 3 + 2) << "forward, backward, reduction, update";
}

/// Of ranks that are bound to no core of a host that has enough for all.
class OnManyCores final : public TimesOf {
 public:
  explicit OnManyCores(const TimeModel& base) : TimesOf(base) {}
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy) const override {
    return base_.parts(plan, rank, op, busy);
  }
  int cores_of_rank(const Case&) const override { return 1 << 20; }
};

// Where cores suffice, waiting for one end after the other gives the times that follow from the plan alone.
TEST(SharedCores, WithoutContentionNothingChanges) {
  const auto jitter = [](Rank rank, const plan::Op& op, int) {
    return .1 * (1 + (rank.value * 7 + static_cast<int>(op.kind) * 3 + op.micro_batch.value * 5 + op.step.value) % 11);
  };
  std::vector<plan::Plan> plans = {pipedream(3, 7), data_parallel(4, 3), plan::unroll(gpipe(4, 6), 2)};
  for (const std::string& strategy : schedules_serving(4, 8)) {
    plans.push_back(plan::unroll(pipeline(strategy, 4, 8, 2, Recompute::except_last), 2));
  }
  const HandCosts none(jitter, 0), thousand(jitter, 1000);
  for (const plan::Plan& plan : plans) {
    const plan::Timeline alone = simulate(plan, none), shared = simulate(plan, OnManyCores(thousand));
    for (std::size_t r = 0; r < alone.ranks.size(); ++r) {
      for (std::size_t l = 0; l < alone.ranks[r].size(); ++l) {
        for (std::size_t i = 0; i < alone.ranks[r][l].size(); ++i) {
          EXPECT_NEAR(alone.ranks[r][l][i].start, shared.ranks[r][l][i].start, 1e-9) << plan.spec.strategy.name;
          EXPECT_NEAR(alone.ranks[r][l][i].end, shared.ranks[r][l][i].end, 1e-9) << plan.spec.strategy.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace parabench::analytic
