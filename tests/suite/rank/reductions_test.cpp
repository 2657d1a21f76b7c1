#include "suite/rank/reductions.h"

#include <gtest/gtest.h>

#include "tests/parallelism/plan/plans.h"

namespace parabench::rank {
namespace {

/// Every all-reduce takes `seconds` once its last rank has joined; rank r joins r seconds late.
plan::Timeline reduced_in(const plan::Plan& plan, double seconds) {
  plan::Timeline timeline;
  const double last = static_cast<double>(plan.ranks.size()) - 1;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    auto& lanes = timeline.ranks.emplace_back();
    for (const plan::Lane& lane : plan.ranks[r].lanes) lanes.emplace_back(lane.ops.size());
    const int reduced = plan.ranks[r].find_lane(plan::collectives_of(GroupId(0), plan::Payload::gradients));
    if (reduced < 0) continue;
    auto& spans = lanes[reduced];
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const double step = 100.0 * static_cast<double>(i), start = step + static_cast<double>(r);
      spans[i] = {step, start, step + last + seconds};
    }
  }
  return timeline;
}

TEST(ReductionBandwidth, IsNcclTestsFactorTimesBytesOverTheTimeFromTheLastRankOn) {
  const models::ModelSpec model = plan::chain_model(3);
  Case spec = case_of("data-parallel", 4, 8);
  spec.bucket = Bytes(1);  // an all-reduce for every layer
  const plan::Plan plan = plan::unroll(plan::test_plan(spec, 3), 2);
  const analytic::Sizes sizes(model);
  ASSERT_EQ(plan.ranks[0].lanes[1].ops.size(), 6U);
  const double arena = static_cast<double>(sizes.parameter_bytes(plan, SegmentId(0), 3));
  for (int rank : {0, 3}) {
    const auto bandwidth =
        reduction_bandwidth(plan, plan::match(plan), sizes, reduced_in(plan, 0.5), Rank(rank), StepId(1));
    ASSERT_TRUE(bandwidth);
    EXPECT_DOUBLE_EQ(*bandwidth, 2 * 3 / 4.0 * arena / (3 * 0.5)) << "one step of three all-reduces";
  }
}

TEST(ReductionBandwidth, IsNoneWhereNothingIsReducedBetweenRanks) {
  for (const plan::Plan& plan : {plan::test_plan(case_of("sequential", 1, 4), 3), plan::gpipe_of(2, 2, 4)})
    EXPECT_FALSE(reduction_bandwidth(plan, plan::match(plan), analytic::Sizes(plan::chain_model(3)),
                                     reduced_in(plan, 1), Rank(0), StepId(0)));
}

}  // namespace
}  // namespace parabench::rank
