#include "parallelism/plan/op.h"

#include <gmock/gmock.h>

#include "parallelism/plan/lane.h"

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

TEST(Op, TextNamesThePartsOfASplitBackward) {
  EXPECT_EQ(to_text(pass(OpKind::backward_input, SegmentId(3), MicroBatchId(1), 0, 0)), "3I1");
  EXPECT_EQ(to_text(pass(OpKind::backward_weight, SegmentId(3), MicroBatchId(1), 0, 0)), "3W1");
  EXPECT_EQ(to_text(pass(OpKind::recompute, SegmentId(3), MicroBatchId(1), 0, 0)), "3RECOMPUTE1");
}

TEST(Op, EveryKindHasAnOwnNameAndALaneOfItsOwnKind) {
  std::vector<std::string_view> names;
  for (OpKind kind : all_op_kinds) names.push_back(name(kind));
  EXPECT_THAT(names, testing::ElementsAre("F", "B", "I", "W", "RECOMPUTE", "SEND_F", "RECV_F", "SEND_B", "RECV_B",
                                          "ALL_REDUCE", "UPDATE"));
  for (OpKind kind : all_op_kinds) {
    EXPECT_EQ(is_pass(kind) || kind == OpKind::update, lane_kind(kind) == LaneKind::compute);
    EXPECT_EQ(other_end(other_end(lane_kind(kind))), lane_kind(kind));
    EXPECT_EQ(is_send(lane_kind(kind)), is_send(kind));
    EXPECT_EQ(is_receive(lane_kind(kind)), is_receive(kind));
  }
  EXPECT_EQ(lane_kind(OpKind::update), LaneKind::compute);
  EXPECT_EQ(lane_kind(OpKind::all_reduce), LaneKind::collectives);
  EXPECT_EQ(other_end(lane_kind(OpKind::send_forward)), lane_kind(OpKind::recv_forward));
  EXPECT_EQ(other_end(lane_kind(OpKind::recv_backward)), lane_kind(OpKind::send_backward));
}

TEST(Op, AnActivationArrivesAtTheNextSegmentAndAGradientAtThePreviousOne) {
  const MicroBatchId m(5);
  EXPECT_EQ(receive_of(send_forward(SegmentId(2), m, 7, Rank(1)), Rank(0)), recv_forward(SegmentId(3), m, 7, Rank(0)));
  EXPECT_EQ(receive_of(send_backward(SegmentId(2), m, 7, Rank(1)), Rank(0)),
            recv_backward(SegmentId(1), m, 7, Rank(0)));
  for (const Op& send : {send_forward(SegmentId(2), m, 7, Rank(1)), send_backward(SegmentId(2), m, 7, Rank(1))}) {
    EXPECT_EQ(other_segment(receive_of(send, Rank(0))), send.segment);
  }
}

TEST(Op, ABackwardIsAnInputAndAWeightGradient) {
  EXPECT_TRUE(makes_input_gradient(OpKind::backward) && makes_weight_gradient(OpKind::backward));
  EXPECT_TRUE(makes_input_gradient(OpKind::backward_input) && !makes_weight_gradient(OpKind::backward_input));
  EXPECT_TRUE(makes_weight_gradient(OpKind::backward_weight) && !makes_input_gradient(OpKind::backward_weight));
}

}  // namespace
}  // namespace parabench
