#include "analytic/simulate/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "analytic/closed_forms/closed_forms.h"
#include "analytic/costs/costs.h"
#include "analytic/simulate/activities.h"
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

TEST(SharedCores, CommunicationSlowsComputingWhereCoresAreFew) {
  const KindSeconds seconds{.forward = 1, .backward = 1, .all_reduce = 1};
  // F F B, then the first reduction beside the second backward, then the second reduction.
  EXPECT_DOUBLE_EQ(end_of(data_parallel(2, 2), HandCosts(seconds, 0)), 5);
  EXPECT_DOUBLE_EQ(end_of(data_parallel(2, 2), HandCosts(seconds, 4)), 5);
  EXPECT_DOUBLE_EQ(end_of(data_parallel(2, 2), HandCosts(seconds, 3)), 3 + 4. / 3 + 1);
  EXPECT_DOUBLE_EQ(end_of(data_parallel(2, 2), HandCosts(seconds, 2)), 6);
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
  // 2 cores: F1 of rank 0 (1 core) beside the message of F0 (2 cores) until that ends.
  const HandCosts costs(KindSeconds{.forward = 1, .backward = 0, .message = .5}, 2);
  const plan::Plan plan = gpipe(2, 2);
  const plan::Timeline t = simulate(plan, costs);
  EXPECT_DOUBLE_EQ(spans(plan, t, 1, plan::LaneKind::receive, plan::Payload::activation)[0].end, 1.75);
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
  // The first update of two begins beside the second sum, in which two ranks take part.
  const HandCosts of_one(
      [](Rank, const plan::Op& op, int busy) {
        if (op.kind == plan::OpKind::update) return 1.0 * busy;
        return op.kind == plan::OpKind::all_reduce ? 3.0 : 0.0;
      },
      8);
  const plan::Timeline buckets = simulate(data_parallel(2, 2), of_one);
  const auto& lane = buckets.ranks[0][plan::compute_lane];
  EXPECT_DOUBLE_EQ(lane[lane.size() - 2].end - lane[lane.size() - 2].start, 2);
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

/// Passes are free, collectives take a latency and their bytes, messages their bytes.
class Transfers final : public TimeModel {
 public:
  explicit Transfers(double message_s = 0, int cores = 64) : message_s_(message_s), cores_(cores) {}
  TimeParts parts(const plan::Plan&, Rank, const plan::Op& op, int) const override {
    if (plan::is_collective(op.kind)) return {.latency = 1, .transfer = 3};
    if (plan::is_message(op.kind)) return {.transfer = message_s_};
    return {};
  }
  int cores() const override { return cores_; }
  std::string source() const override { return "unit"; }

 private:
  double message_s_;
  int cores_;
};

TEST(SharedHostLinks, GroupsThatMeetOnAHostsLinkHaveHalfOfIt) {
  // Copies 0 and 1, 2 and 3 of a pipeline of two stages, both of which sum at once.
  Case spec = case_of("gpipe", 4, 4, 2);
  spec.dp = 2;
  plan::Plan plan = test_plan(spec, 2);
  EXPECT_DOUBLE_EQ(plan::makespan(simulate(plan, Transfers())), 4) << "on one host";
  plan.placement = in_blocks(4, 2);
  EXPECT_DOUBLE_EQ(plan::makespan(simulate(plan, Transfers())), 1 + 2 * 3) << "the latency is not the link's";
  plan.placement = {{0, 1, 0, 2}};
  EXPECT_DOUBLE_EQ(plan::makespan(simulate(plan, Transfers())), 4) << "one of the groups stays on its host";
  plan.placement = {{0, 1, 2, 3}};
  EXPECT_DOUBLE_EQ(plan::makespan(simulate(plan, Transfers())), 4) << "on four links";
}

TEST(SharedHostLinks, TheScarcerOfLinkAndCoresCountsAlone) {
  Case spec = case_of("gpipe", 4, 4, 2);
  spec.dp = 2;
  plan::Plan plan = test_plan(spec, 2);
  plan.placement = in_blocks(4, 2);
  const auto end = [&](int cores) { return plan::makespan(simulate(plan, Transfers(0, cores))); };
  EXPECT_DOUBLE_EQ(end(2), 1 + 2 * 3) << "half the link each";
  EXPECT_DOUBLE_EQ(end(1), 2 * (1 + 3)) << "half a core each, with which half the link is used";
}

TEST(SharedHostLinks, HaveAPortForEachDirection) {
  plan::Plan plan = gpipe(4, 1);
  const Transfers times(2);
  const plan::Op there = plan::send_forward(SegmentId(0), MicroBatchId(0), StepId(0), Rank(2));
  const plan::Op too = plan::send_forward(SegmentId(0), MicroBatchId(0), StepId(0), Rank(3));
  const plan::Op back = plan::send_backward(SegmentId(1), MicroBatchId(0), StepId(0), Rank(0));
  const auto end_of_first = [&](const Activity& first, const Activity& second) {
    SharingActivities running(plan, times);
    running.start(first, 0);
    running.start(second, 0);
    std::vector<int> ended;
    return running.finish(ended);
  };
  const Activity out{&there, Rank(0), 0, 2}, beside{&too, Rank(1), 1, 2}, in{&back, Rank(2), 1, 2};
  EXPECT_DOUBLE_EQ(end_of_first(out, beside), 2) << "within a host";
  plan.placement = in_blocks(4, 2);
  EXPECT_DOUBLE_EQ(end_of_first(out, beside), 4) << "two ranks of a host send";
  EXPECT_DOUBLE_EQ(end_of_first(out, in), 2) << "one sends, one receives";
}

/// The same over hosts in racks, with uplinks as wide as so many of their links.
class TransfersUp final : public TimeModel {
 public:
  TransfersUp(int hosts_per_rack, double links) : up_{hosts_per_rack, links} {}
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy) const override {
    TimeParts parts = Transfers().parts(plan, rank, op, busy);
    if (crosses(plan, op)) parts.transfer /= std::min(1.0, up_.links);
    return parts;
  }
  int cores() const override { return 64; }
  Uplinks uplinks() const override { return up_; }
  std::string source() const override { return "unit"; }

 private:
  bool crosses(const plan::Plan& plan, const plan::Op& op) const {
    if (!plan::is_collective(op.kind)) return false;
    const auto rack = [&](Rank rank) { return host_of(plan.placement, rank) / up_.hosts_per_rack; };
    const auto& ranks = plan.groups[op.group.value].ranks;
    return std::ranges::any_of(ranks, [&](Rank rank) { return rack(rank) != rack(ranks.front()); });
  }

  Uplinks up_;
};

/// Copies of two stages, which sum at once among even and among odd ranks.
plan::Plan two_sums(std::vector<int> hosts) {
  const auto ranks = static_cast<int>(hosts.size());
  Case spec = case_of("gpipe", ranks, ranks, 2);
  spec.dp = ranks / 2;
  spec.reduce = ReduceKind::ring;
  plan::Plan plan = test_plan(spec, 2);
  plan.placement = {std::move(hosts)};
  return plan;
}

TEST(SharedUplinks, AsWideAsTheLinksOfTheirHostsChangeNothing) {
  for (const auto& hosts : {std::vector<int>{0, 1, 2, 3}, {0, 0, 1, 1}, {0, 0, 1, 2}, {0, 1, 0, 2}, {0, 1, 1, 2}}) {
    const plan::Plan plan = two_sums(hosts);
    EXPECT_DOUBLE_EQ(plan::makespan(simulate(plan, TransfersUp(2, 2))), plan::makespan(simulate(plan, Transfers())));
  }
}

TEST(SharedUplinks, AreSharedByWhatPassesBetweenRacks) {
  const auto end = [](std::vector<int> hosts, int hosts_per_rack, double links) {
    return plan::makespan(simulate(two_sums(std::move(hosts)), TransfersUp(hosts_per_rack, links)));
  };
  // Each rank on a host of its own, two hosts to a rack: both sums leave both racks.
  EXPECT_DOUBLE_EQ(end({0, 1, 2, 3}, 2, 2), 1 + 3);
  EXPECT_DOUBLE_EQ(end({0, 1, 2, 3}, 2, 1), 1 + 2 * 3);
  EXPECT_DOUBLE_EQ(end({0, 1, 2, 3}, 2, .5), 1 + 4 * 3);
  EXPECT_DOUBLE_EQ(end({0, 1, 2, 3}, 4, .5), 1 + 3) << "a single rack";
  // Both leave the same two hosts, whose links they share: an uplink as wide as one of these is no further limit.
  EXPECT_DOUBLE_EQ(end({0, 0, 1, 1}, 1, 1), 1 + 2 * 3);
  EXPECT_DOUBLE_EQ(end({0, 0, 1, 1}, 1, .5), 1 + 4 * 3);
}

TEST(SharedUplinks, CarryOneOfARingAndAllHostsOfOtherAlgorithms) {
  // Two sums with two hosts each in two racks of four, whose uplinks are as wide as two links.
  const auto end = [](ReduceKind reduce) {
    plan::Plan plan = two_sums({0, 2, 1, 3, 4, 6, 5, 7});
    plan.spec.reduce = reduce;
    return plan::makespan(simulate(plan, TransfersUp(4, 2)));
  };
  EXPECT_DOUBLE_EQ(end(ReduceKind::ring), 1 + 3);
  EXPECT_DOUBLE_EQ(end(ReduceKind::halving_doubling), 1 + 2 * 3);
  EXPECT_DOUBLE_EQ(end(ReduceKind::automatic), 1 + 2 * 3) << "four members on hosts of their own";
}

TEST(SharedCores, GpusTakeNoCoresButSlowEachOtherAsMeasured) {
  plan::Plan plan = data_parallel(2, 1);
  plan.spec.device = DeviceKind::cuda;
  const HandCosts costs(
      [](Rank, const plan::Op& op, int busy) { return op.kind == plan::OpKind::all_reduce ? 3.0 : 1.0 * busy; }, 1);
  EXPECT_DOUBLE_EQ(end_of(plan, costs), 2 + 2 + 3 + 2) << "forward, backward, reduction, update";
}

// Where cores suffice, waiting for one end after the other gives the times that follow from the plan alone.
TEST(SharedCores, WithoutContentionNothingChanges) {
  const auto jitter = [](Rank rank, const plan::Op& op, int) {
    return .1 * (1 + (rank.value * 7 + static_cast<int>(op.kind) * 3 + op.micro_batch.value * 5 + op.step.value) % 11);
  };
  std::vector<plan::Plan> plans = {pipedream(3, 7), data_parallel(4, 3), plan::unroll(gpipe(4, 6), 2)};
  for (const std::string& strategy : schedules_serving(4, 8)) {
    plans.push_back(plan::unroll(pipeline(strategy, 4, 8, 2, Recompute::except_last), 2));
  }
  for (const plan::Plan& plan : plans) {
    const plan::Timeline alone = simulate(plan, HandCosts(jitter, 0)), shared = simulate(plan, HandCosts(jitter, 1000));
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
