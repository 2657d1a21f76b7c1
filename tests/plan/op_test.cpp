#include "parallelism/plan/op.h"

#include <gmock/gmock.h>

namespace parabench {
namespace {

TEST(Op, TextNamesSegmentKindAndMicroBatch) {
  EXPECT_EQ(to_text(forward(SegmentId(2), MicroBatchId(0), 7, 7)), "2F0");
  EXPECT_EQ(to_text(backward(SegmentId(2), MicroBatchId(1), 0, 0)), "2B1");
  EXPECT_EQ(to_text(send_forward(SegmentId(1), MicroBatchId(3), 0, Rank(2))), "1SEND_F3");
  EXPECT_EQ(to_text(recv_forward(SegmentId(2), MicroBatchId(3), 0, Rank(1))), "2RECV_F3");
  EXPECT_EQ(to_text(send_backward(SegmentId(2), MicroBatchId(3), 0, Rank(1))), "2SEND_B3");
  EXPECT_EQ(to_text(recv_backward(SegmentId(1), MicroBatchId(3), 0, Rank(2))), "1RECV_B3");
  EXPECT_EQ(to_text(all_reduce(SegmentId(0), 5, 0)), "0-4ALL_REDUCE");
  EXPECT_EQ(to_text(update(SegmentId(7), 1, 0, 1)), "7UPDATE");
}

TEST(Op, EveryKindHasAnOwnNameAndOneLane) {
  std::vector<std::string_view> names;
  for (OpKind kind : all_op_kinds) names.push_back(name(kind));
  EXPECT_THAT(names, testing::ElementsAre("F", "B", "SEND_F", "RECV_F", "SEND_B", "RECV_B", "ALL_REDUCE", "UPDATE"));
  EXPECT_EQ(lane_of(OpKind::update), Lane::compute);
  EXPECT_EQ(lane_of(OpKind::all_reduce), Lane::collectives);
  EXPECT_EQ(lane_of(OpKind::send_forward), lane_of(OpKind::recv_forward));
  EXPECT_EQ(lane_of(OpKind::send_backward), lane_of(OpKind::recv_backward));
  EXPECT_NE(lane_of(OpKind::send_forward), lane_of(OpKind::send_backward));
}

}  // namespace
}  // namespace parabench
