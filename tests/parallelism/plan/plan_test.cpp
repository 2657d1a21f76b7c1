#include "parallelism/plan/plan.h"

#include <gmock/gmock.h>

#include <numeric>

#include "base/error.h"
#include "tests/parallelism/plan/plans.h"

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
  const auto& ops = plan.ranks[1].compute();
  ASSERT_EQ(ops.size(), 3u * 5u);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(ops[5 * step], forward(SegmentId(1), MicroBatchId(0), step, step));
    Op second = backward(SegmentId(1), MicroBatchId(1), step, step);
    second.accumulates = true;
    EXPECT_EQ(ops[5 * step + 3], second);
    EXPECT_EQ(ops[5 * step + 4], update(SegmentId(1), 1, step, step + 1));
  }
  const Lane& received = plan.ranks[1].lanes[plan.ranks[1].find_lane(LaneKind::recv_forward, 0)];
  EXPECT_EQ(received.ops[3], recv_forward(SegmentId(1), MicroBatchId(1), 1, Rank(0)));
}

TEST(Plan, AnAsynchronousPlanIsItsOwnWindowAndDrainsAtAnEarlierEnd) {
  const Plan plan = pipedream_of(2, 5);
  EXPECT_EQ(unroll(plan, 5), plan);
  EXPECT_THROW(unroll(plan, 6), Error);
  const Plan shorter = unroll(plan, 3);
  EXPECT_EQ(shorter.steps, 3);
  EXPECT_EQ(shorter.ranks[0].compute(), pipedream_of(2, 3).ranks[0].compute());
}

TEST(Plan, LanesAreMadeInTheOrderOfKindAndKey) {
  RankProgram rank;
  rank.lane(LaneKind::recv_backward, 1);
  rank.lane(LaneKind::send_forward, 3);
  rank.lane(LaneKind::send_forward, 1).push_back(send_forward(SegmentId(0), MicroBatchId(0), 0, Rank(1)));
  rank.lane(LaneKind::collectives, 2);
  std::vector<std::string> names;
  for (const Lane& lane : rank.lanes) names.push_back(name(lane));
  EXPECT_THAT(names, ElementsAre("compute", "collectives:2", "send_forward:1", "send_forward:3", "recv_backward:1"));
  EXPECT_EQ(rank.lane(LaneKind::send_forward, 1).size(), 1u);
  EXPECT_EQ(rank.find_lane(LaneKind::send_forward, 3), 3);
  EXPECT_EQ(rank.find_lane(LaneKind::recv_forward, 3), -1);
  EXPECT_TRUE(reduces(rank));
}

TEST(Plan, AnswersWhoHoldsAndReducesAStage) {
  const Plan plan = pipedream_of("1-3-1", 5, 3, 6);
  EXPECT_THAT(holders(plan, StageId(1)), ElementsAre(Rank(1), Rank(2), Rank(3)));
  EXPECT_THAT(segments_held(plan, Rank(2)), ElementsAre(SegmentId(1)));
  EXPECT_EQ(replica_of(plan, Rank(2), SegmentId(1)), 0);
  EXPECT_EQ(replica_of(plan, Rank(2), SegmentId(0)), -1);
  EXPECT_THAT(reduction_groups(plan), ElementsAre(ElementsAre(Rank(1), Rank(2), Rank(3))));
  EXPECT_THAT(groups_by_stage(plan), ElementsAre(-1, 1, -1));
  EXPECT_TRUE(reduces(plan.ranks[2]));
  EXPECT_FALSE(reduces(plan.ranks[0]));
  const Plan replicas = plan_of(case_of("data-parallel", 3, 3), 2);
  EXPECT_THAT(reduction_groups(replicas), testing::IsEmpty());
  EXPECT_THAT(groups_by_stage(replicas), ElementsAre(0));
}

}  // namespace
}  // namespace parabench
