// What timelines of the simulation make of exchanges.
#include "parallelism/plan/paces.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analytic/simulate/simulate.h"
#include "parallelism/plan/dependencies.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

using plan::Span;

/// The rank's spans with nobody else there: its exchanges take what `paces` says, its computing what it took.
std::vector<std::vector<Span>> alone(const plan::Plan& plan, Rank rank, const plan::ExchangeSeconds& paces,
                                     const std::vector<Span>& computed) {
  const plan::LocalDependencies late = plan::receiving_late(plan, rank, plan::dependencies(plan, rank));
  const std::vector<plan::Lane>& lanes = plan.ranks[rank.value].lanes;
  std::vector<std::vector<Span>> spans(lanes.size());
  for (bool moves = true; moves;) {
    moves = false;
    for (int l = 0; l < std::ssize(lanes); ++l) {
      const int i = static_cast<int>(spans[l].size());
      if (i == std::ssize(lanes[l].ops)) continue;
      const auto needs = late.of(l, i);
      if (std::ranges::any_of(needs, [&](const plan::OpRef& ref) { return ref.index >= std::ssize(spans[ref.lane]); }))
        continue;
      double start = i == 0 ? 0 : spans[l].back().end;
      for (const plan::OpRef& ref : needs) start = std::max(start, spans[ref.lane][ref.index].end);
      const double seconds = l == plan::compute_lane ? computed[i].end - computed[i].start : paces[l][i];
      spans[l].push_back({.start = start, .end = start + seconds});
      moves = true;
    }
  }
  return spans;
}

void expect_rehearsed(const plan::Plan& plan, const plan::Timeline& timeline) {
  for (Rank rank; rank.value < plan.spec.np; ++rank) {
    const std::vector<Span>& together = timeline.ranks[rank.value][plan::compute_lane];
    const plan::ExchangeSeconds paces = plan::exchange_seconds(plan, timeline, rank);
    EXPECT_TRUE(paces[plan::compute_lane].empty());
    const std::vector<Span> rehearsed = alone(plan, rank, paces, together)[plan::compute_lane];
    ASSERT_EQ(rehearsed.size(), together.size()) << plan.spec.strategy.name << ", rank " << rank.value;
    for (std::size_t i = 0; i < together.size(); ++i) {
      EXPECT_NEAR(rehearsed[i].start, together[i].start, 1e-9) << plan.spec.strategy.name << ", rank " << rank.value;
      EXPECT_NEAR(rehearsed[i].end, together[i].end, 1e-9);
    }
  }
}

TEST(ExchangeSeconds, ARankAloneComputesWhenItDoesTogether) {
  const HandCosts costs(KindSeconds{.message = 0.3, .all_reduce = 1.7, .update = 0.4});
  for (const std::string& strategy : schedules_serving(4, 8)) {
    const plan::Plan plan = plan::unroll(pipeline(strategy, 4, 8), 3);
    expect_rehearsed(plan, simulate(plan, costs));
  }
}

TEST(ExchangeSeconds, SoItDoesWhereStagesAreReplicated) {
  const HandCosts costs(KindSeconds{.message = 0.3, .all_reduce = 1.7, .update = 0.4});
  for (const char* strategy : {"gpipe", "1f1b", "zb-h1"}) {
    Case spec = case_of(strategy, 6, 16, 4);
    spec.dp = 2;
    const plan::Plan plan = plan::unroll(test_plan(spec, 3), 3);
    expect_rehearsed(plan, simulate(plan, costs));
  }
}

// Rank 1 takes three times as long: the third and the fourth message are over before it could receive them.
TEST(ExchangeSeconds, WhatIsThereBeforeItIsAskedForTakesNoTime) {
  const plan::Plan plan = pipeline("gpipe", 2, 4);
  const auto slow = [](Rank rank, const plan::Op& op, int busy) {
    return (1 + 2 * rank.value) * KindSeconds{}(rank, op, busy);
  };
  const plan::ExchangeSeconds paces = plan::exchange_seconds(plan, simulate(plan, HandCosts(slow)), Rank(1));
  const int received = lane_of(plan, 1, plan::LaneKind::receive, plan::Payload::activation);
  EXPECT_EQ(paces[received], (std::vector<double>{1, 1, 0, 0}));
}

}  // namespace
}  // namespace parabench::analytic
