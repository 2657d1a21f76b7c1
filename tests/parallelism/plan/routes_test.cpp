#include "parallelism/plan/routes.h"

#include <gtest/gtest.h>

namespace parabench::plan {
namespace {

constexpr Payload forward_to = Payload::activation, backward_to = Payload::activation_gradient;

TEST(Routes, AreOneForEachLaneThatSends) {
  Plan plan;
  plan.ranks.resize(2);
  plan.ranks[0].lane(sends_to(Rank(1), Payload::activation)) = {
      send_forward(SegmentId(0), MicroBatchId(0), StepId(0), Rank(1)),
      send_forward(SegmentId(0), MicroBatchId(1), StepId(0), Rank(1))};
  plan.ranks[1].lane(receives_from(Rank(0), Payload::activation)) = {
      recv_forward(SegmentId(1), MicroBatchId(0), StepId(0), Rank(0)),
      recv_forward(SegmentId(1), MicroBatchId(1), StepId(0), Rank(0))};
  plan.ranks[1].lane(sends_to(Rank(0), Payload::activation_gradient)) = {
      send_backward(SegmentId(1), MicroBatchId(0), StepId(0), Rank(0))};
  plan.ranks[0].lane(receives_from(Rank(1), Payload::activation_gradient)) = {
      recv_backward(SegmentId(0), MicroBatchId(0), StepId(0), Rank(1))};
  plan.ranks[0].lane(collectives_of(GroupId(0), Payload::gradients)) = {
      all_reduce(SegmentId(0), 1, StepId(0), GroupId(0))};
  EXPECT_EQ(routes(plan), (std::vector<Route>{{forward_to, Rank(0), Rank(1)}, {backward_to, Rank(1), Rank(0)}}));
}

TEST(Routes, OfOneDirectionGoBothWaysBetweenThePartsOfAV) {
  Plan plan;
  plan.ranks.resize(3);
  const auto sends = [&](int from, int to) {
    plan.ranks[from].lane(sends_to(Rank(to), Payload::activation)) = {
        send_forward(SegmentId(0), MicroBatchId(0), StepId(0), Rank(to))};
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
  plan.ranks[0].lane(sends_to(Rank(1), Payload::activation));
  plan.ranks[1].lane(collectives_of(GroupId(0), Payload::gradients)) = {
      all_reduce(SegmentId(0), 1, StepId(0), GroupId(0))};
  EXPECT_TRUE(routes(plan).empty());
}

}  // namespace
}  // namespace parabench::plan
