#include "parallelism/plan/routes.h"

#include <gtest/gtest.h>

namespace parabench {
namespace {

constexpr LaneKind forward_to = LaneKind::send_forward, backward_to = LaneKind::send_backward;

TEST(Routes, AreOneForEachLaneThatSends) {
  Plan plan;
  plan.ranks.resize(2);
  plan.ranks[0].lane(LaneKind::send_forward, 1) = {send_forward(SegmentId(0), MicroBatchId(0), 0, Rank(1)),
                                                   send_forward(SegmentId(0), MicroBatchId(1), 0, Rank(1))};
  plan.ranks[1].lane(LaneKind::recv_forward, 0) = {recv_forward(SegmentId(1), MicroBatchId(0), 0, Rank(0)),
                                                   recv_forward(SegmentId(1), MicroBatchId(1), 0, Rank(0))};
  plan.ranks[1].lane(LaneKind::send_backward, 0) = {send_backward(SegmentId(1), MicroBatchId(0), 0, Rank(0))};
  plan.ranks[0].lane(LaneKind::recv_backward, 1) = {recv_backward(SegmentId(0), MicroBatchId(0), 0, Rank(1))};
  plan.ranks[0].lane(LaneKind::collectives, 0) = {all_reduce(SegmentId(0), 1, 0)};
  EXPECT_EQ(routes(plan), (std::vector<Route>{{forward_to, Rank(0), Rank(1)}, {backward_to, Rank(1), Rank(0)}}));
}

TEST(Routes, OfOneDirectionGoBothWaysBetweenThePartsOfAV) {
  Plan plan;
  plan.ranks.resize(3);
  const auto sends = [&](int from, int to) {
    plan.ranks[from].lane(LaneKind::send_forward, to) = {send_forward(SegmentId(0), MicroBatchId(0), 0, Rank(to))};
  };
  sends(1, 2);
  sends(2, 1);
  sends(1, 0);
  sends(0, 1);
  EXPECT_EQ(routes(plan), (std::vector<Route>{{forward_to, Rank(0), Rank(1)},
                                              {forward_to, Rank(1), Rank(0)},
                                              {forward_to, Rank(1), Rank(2)},
                                              {forward_to, Rank(2), Rank(1)}}));
}

TEST(Routes, AreNoneWhereNothingIsSent) {
  Plan plan;
  plan.ranks.resize(2);
  plan.ranks[0].lane(LaneKind::send_forward, 1);
  plan.ranks[1].lane(LaneKind::collectives, 0) = {all_reduce(SegmentId(0), 1, 0)};
  EXPECT_TRUE(routes(plan).empty());
}

}  // namespace
}  // namespace parabench
