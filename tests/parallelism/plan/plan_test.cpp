#include "parallelism/plan/plan.h"

#include <gmock/gmock.h>

#include <numeric>

#include "base/error.h"
#include "parallelism/plan/routes.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
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
  EXPECT_EQ(piece_offset(plan, ReplicaId(0), MicroBatchId(0)), 0);
  EXPECT_EQ(piece_offset(plan, ReplicaId(0), MicroBatchId(2)), 6);
  EXPECT_EQ(piece_offset(plan, ReplicaId(1), MicroBatchId(0)), 8);
  EXPECT_EQ(piece_offset(plan, ReplicaId(1), MicroBatchId(2)), 13);
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
    EXPECT_EQ(ops[5 * step], forward(SegmentId(1), MicroBatchId(0), StepId(step), VersionId(step)));
    Op second = backward(SegmentId(1), MicroBatchId(1), StepId(step), VersionId(step));
    second.accumulates = true;
    EXPECT_EQ(ops[5 * step + 3], second);
    EXPECT_EQ(ops[5 * step + 4], update(SegmentId(1), 1, StepId(step), VersionId(step + 1)));
  }
  const Lane& received = plan.ranks[1].lanes[plan.ranks[1].find_lane(receives_from(Rank(0), Payload::activation))];
  EXPECT_EQ(received.ops[3], recv_forward(SegmentId(1), MicroBatchId(1), StepId(1), Rank(0)));
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
  rank.lane(receives_from(Rank(1), Payload::activation_gradient));
  rank.lane(sends_to(Rank(3), Payload::activation));
  rank.lane(sends_to(Rank(1), Payload::activation))
      .push_back(send_forward(SegmentId(0), MicroBatchId(0), StepId(0), Rank(1)));
  rank.lane(collectives_of(GroupId(2), Payload::gradients));
  std::vector<std::string> names;
  for (const Lane& lane : rank.lanes) names.push_back(name(lane.key));
  EXPECT_THAT(names, ElementsAre("compute", "collectives:gradients:2", "send:activation:1", "send:activation:3",
                                 "receive:activation_gradient:1"));
  EXPECT_EQ(rank.lane(sends_to(Rank(1), Payload::activation)).size(), 1u);
  EXPECT_EQ(rank.find_lane(sends_to(Rank(3), Payload::activation)), 3);
  EXPECT_EQ(rank.find_lane(receives_from(Rank(3), Payload::activation)), -1);
  EXPECT_TRUE(reduces(rank));
}

TEST(Plan, AnswersWhoHoldsAndReducesAStage) {
  const Plan plan = pipedream_of("1-3-1", 5, 3, 6);
  EXPECT_THAT(holders(plan, StageId(1)), ElementsAre(Rank(1), Rank(2), Rank(3)));
  EXPECT_THAT(segments_held(plan, Rank(2)), ElementsAre(SegmentId(1)));
  EXPECT_EQ(replica_of(plan, Rank(2), SegmentId(1)), ReplicaId(0));
  EXPECT_EQ(replica_of(plan, Rank(2), SegmentId(0)), ReplicaId(-1));
  EXPECT_THAT(collective_groups(plan).declared, ElementsAre(ElementsAre(Rank(1), Rank(2), Rank(3))));
  EXPECT_EQ(collective_groups(plan).numbers.at(collectives_of(GroupId(0), Payload::gradients)), CommGroupId(1));
  EXPECT_TRUE(reduces(plan.ranks[2]));
  EXPECT_FALSE(reduces(plan.ranks[0]));
  const Plan replicas = test_plan(case_of("data-parallel", 3, 3), 2);
  EXPECT_THAT(collective_groups(replicas).declared, testing::IsEmpty());
  EXPECT_EQ(collective_groups(replicas).numbers.at(collectives_of(GroupId(0), Payload::gradients)), CommGroupId(0));
}

}  // namespace
}  // namespace parabench::plan
