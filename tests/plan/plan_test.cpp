#include "parallelism/plan/plan.h"

#include <gmock/gmock.h>

#include <numeric>

#include "base/error.h"
#include "tests/plan/plans.h"

namespace parabench {
namespace {

using testing::ElementsAre;

TEST(Plan, SplitsSamplesIntoSizesThatDifferByOneLargerFirst) {
  EXPECT_THAT(split_evenly(8, 3), ElementsAre(3, 3, 2));
  EXPECT_THAT(split_evenly(4, 4), ElementsAre(1, 1, 1, 1));
  for (int samples = 1; samples <= 40; ++samples) {
    for (int pieces = 1; pieces <= samples; ++pieces) {
      const auto sizes = split_evenly(samples, pieces);
      EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), 0), samples);
      EXPECT_LE(sizes.front() - sizes.back(), 1);
    }
  }
}

TEST(Plan, PiecesLieOneAfterTheOtherReplicaByReplica) {
  Plan plan;
  plan.pieces = {{3, 3, 2}, {3, 2, 2}};
  EXPECT_EQ(batch_samples(plan), 15);
  EXPECT_EQ(micro_batches(plan), 3);
  EXPECT_EQ(piece_offset(plan, 0, MicroBatchId(0)), 0);
  EXPECT_EQ(piece_offset(plan, 0, MicroBatchId(2)), 6);
  EXPECT_EQ(piece_offset(plan, 1, MicroBatchId(0)), 8);
  EXPECT_EQ(piece_offset(plan, 1, MicroBatchId(2)), 13);
}

TEST(Plan, SegmentsOfAStageAreARange) {
  Plan plan;
  plan.stages = 2;
  plan.segments = {{0, 2, StageId(0)}, {2, 1, StageId(1)}, {3, 4, StageId(1)}};
  EXPECT_EQ(segments_of(plan, StageId(0)).last, SegmentId(0));
  EXPECT_EQ(segments_of(plan, StageId(1)).first, SegmentId(1));
  EXPECT_EQ(segments_of(plan, StageId(1)).last, SegmentId(2));
  EXPECT_THAT(partition(plan), ElementsAre(2, 5));
}

TEST(Plan, UnrolledStepsReadTheVersionThatTheStepBeforeWrote) {
  const Plan plan = unroll(gpipe_of(2, 2, 4), 3);
  EXPECT_EQ(plan.steps, 3);
  const auto& ops = plan.ranks[1].lane(Lane::compute);
  ASSERT_EQ(ops.size(), 3u * 5u);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(ops[5 * step], forward(SegmentId(1), MicroBatchId(0), step, step));
    EXPECT_EQ(ops[5 * step + 3], backward(SegmentId(1), MicroBatchId(1), step, step));
    EXPECT_EQ(ops[5 * step + 4], update(SegmentId(1), 1, step, step + 1));
  }
  EXPECT_EQ(plan.ranks[1].lane(Lane::p2p_forward)[3], recv_forward(SegmentId(1), MicroBatchId(1), 1, Rank(0)));
}

TEST(Plan, AnAsynchronousPlanIsItsOwnWindow) {
  const Plan plan = pipedream_of(2, 5);
  EXPECT_EQ(unroll(plan, 5), plan);
  EXPECT_THROW(unroll(plan, 6), Error);
}

}  // namespace
}  // namespace parabench
