// Exchanges that meet on the links of hosts, and on the uplinks of racks.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analytic/simulate/activities.h"
#include "analytic/simulate/simulate.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

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
  plan.spec.device = DeviceKind::cuda;  // whose ranks share no cores
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

}  // namespace
}  // namespace parabench::analytic
