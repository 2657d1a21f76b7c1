#include "parallelism/plan/op.h"

#include <gmock/gmock.h>

#include "parallelism/plan/lane.h"

namespace parabench::plan {
namespace {

TEST(Op, TextNamesSegmentKindAndMicroBatch) {
  EXPECT_EQ(to_text(forward(SegmentId(2), MicroBatchId(0), StepId(7), VersionId(7))), "2F0");
  EXPECT_EQ(to_text(backward(SegmentId(2), MicroBatchId(1), StepId(0), VersionId(0))), "2B1");
  EXPECT_EQ(to_text(send_forward(SegmentId(1), MicroBatchId(3), StepId(0), Rank(2))), "1SEND_F3");
  EXPECT_EQ(to_text(recv_forward(SegmentId(2), MicroBatchId(3), StepId(0), Rank(1))), "2RECV_F3");
  EXPECT_EQ(to_text(send_backward(SegmentId(2), MicroBatchId(3), StepId(0), Rank(1))), "2SEND_B3");
  EXPECT_EQ(to_text(recv_backward(SegmentId(1), MicroBatchId(3), StepId(0), Rank(2))), "1RECV_B3");
  EXPECT_EQ(to_text(all_reduce(SegmentId(0), 5, StepId(0), GroupId(0))), "0-4ALL_REDUCE");
  EXPECT_EQ(to_text(update(SegmentId(7), 1, StepId(0), VersionId(1))), "7UPDATE");
}

TEST(Op, TextNamesThePartsOfASplitBackward) {
  EXPECT_EQ(to_text(pass(OpKind::backward_input, SegmentId(3), MicroBatchId(1), StepId(0), VersionId(0))), "3I1");
  EXPECT_EQ(to_text(pass(OpKind::backward_weight, SegmentId(3), MicroBatchId(1), StepId(0), VersionId(0))), "3W1");
  EXPECT_EQ(to_text(pass(OpKind::recompute, SegmentId(3), MicroBatchId(1), StepId(0), VersionId(0))), "3RECOMPUTE1");
}

TEST(Op, EveryKindHasAnOwnNameAndALaneOfItsOwnKind) {
  EXPECT_THAT(enum_names<OpKind>,
              testing::ElementsAre("F", "B", "I", "W", "RECOMPUTE", "NORMS", "UPDATE", "ADD", "AVERAGE", "ENCODE",
                                   "PROJECT", "DECODE", "SEND", "RECV", "ALL_REDUCE", "REDUCE_SCATTER", "ALL_GATHER",
                                   "BROADCAST"));
  for (OpKind kind : enum_values<OpKind>) {
    EXPECT_EQ(kind <= OpKind::decode, lane_kind(kind) == LaneKind::compute);
    EXPECT_EQ(is_message(lane_kind(kind)), is_message(kind));
    EXPECT_EQ(is_collective(kind), lane_kind(kind) == LaneKind::collectives);
  }
}

TEST(Op, ItsLaneFollowsFromGroupOrPeerAndFromWhatItMoves) {
  const Op send = send_forward(SegmentId(2), MicroBatchId(0), StepId(0), Rank(1));
  EXPECT_EQ(name(lane_of(send)), "send:activation:1");
  EXPECT_EQ(name(other_end(lane_of(send), Rank(0))), "receive:activation:0");
  EXPECT_EQ(lane_of(receive_of(send, Rank(0), {})), other_end(lane_of(send), Rank(0)));
  EXPECT_EQ(name(lane_of(send_backward(SegmentId(2), MicroBatchId(0), StepId(0), Rank(1)))),
            "send:activation_gradient:1");
  EXPECT_EQ(name(lane_of(update(SegmentId(0), 1, StepId(0), VersionId(1)))), "compute");
  EXPECT_EQ(name(lane_of(reduce_scatter(SegmentId(0), 1, StepId(0), GroupId(3)))), "collectives:gradients:3");
  EXPECT_EQ(name(lane_of(all_gather(SegmentId(0), 1, StepId(0), VersionId(1), GroupId(3)))),
            "collectives:parameters:3");
  EXPECT_EQ(name(lane_of(all_reduce_forward(SegmentId(0), MicroBatchId(1), StepId(0), GroupId(3)))),
            "collectives:activation:3");
}

TEST(Op, TextOfACollectiveNamesItsRunOrItsMicroBatch) {
  EXPECT_EQ(to_text(reduce_scatter(SegmentId(0), 5, StepId(0), GroupId(0))), "0-4REDUCE_SCATTER");
  EXPECT_EQ(to_text(all_gather(SegmentId(3), 1, StepId(0), VersionId(1), GroupId(0))), "3ALL_GATHER");
  EXPECT_EQ(to_text(broadcast(SegmentId(3), 2, StepId(0), VersionId(1), GroupId(0), Rank(1))), "3-4BROADCAST");
  EXPECT_EQ(to_text(all_reduce_forward(SegmentId(3), MicroBatchId(2), StepId(0), GroupId(0))), "3ALL_REDUCE_F2");
  EXPECT_EQ(to_text(all_reduce_backward(SegmentId(3), MicroBatchId(2), StepId(0), GroupId(0))), "3ALL_REDUCE_B2");
}

TEST(Op, AnActivationArrivesAtTheNextSegmentAndAGradientAtThePreviousOne) {
  const MicroBatchId m(5);
  EXPECT_EQ(receive_of(send_forward(SegmentId(2), m, StepId(7), Rank(1)), Rank(0), {}),
            recv_forward(SegmentId(3), m, StepId(7), Rank(0)));
  EXPECT_EQ(receive_of(send_backward(SegmentId(2), m, StepId(7), Rank(1)), Rank(0), {}),
            recv_backward(SegmentId(1), m, StepId(7), Rank(0)));
  for (const Op& send :
       {send_forward(SegmentId(2), m, StepId(7), Rank(1)), send_backward(SegmentId(2), m, StepId(7), Rank(1))}) {
    EXPECT_EQ(other_segment(receive_of(send, Rank(0), {}), {}), send.segment);
  }
}

TEST(Op, ABackwardIsAnInputAndAWeightGradient) {
  EXPECT_TRUE(makes_input_gradient(OpKind::backward) && makes_weight_gradient(OpKind::backward));
  EXPECT_TRUE(makes_input_gradient(OpKind::backward_input) && !makes_weight_gradient(OpKind::backward_input));
  EXPECT_TRUE(makes_weight_gradient(OpKind::backward_weight) && !makes_input_gradient(OpKind::backward_weight));
}

}  // namespace
}  // namespace parabench::plan
