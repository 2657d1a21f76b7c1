#include "parallelism/plan/dependencies.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "parallelism/plan/owners.h"
#include "parallelism/plan/passes/lowering.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Text of what the operation waits for, in order.
std::vector<std::string> waits_for(const Plan& plan, OpRef ref) {
  std::vector<std::string> result;
  const auto local = dependencies(plan, ref.rank);
  for (OpRef before : local.of(ref.lane, ref.index)) {
    const Op& op = at(plan, before);
    result.push_back(to_text(op) + "@" + std::to_string(op.step.value));
  }
  return result;
}

OpRef find(const Plan& plan, int rank, const std::string& text, int step = 0) {
  const auto& lanes = plan.ranks[rank].lanes;
  for (int lane = 0; lane < std::ssize(lanes); ++lane) {
    const auto& ops = lanes[lane].ops;
    for (int i = 0; i < std::ssize(ops); ++i) {
      if (to_text(ops[i]) == text && ops[i].step.value == step) return {Rank(rank), lane, i};
    }
  }
  ADD_FAILURE() << text << " of step " << step << " is not in the plan";
  return {};
}

TEST(Dependencies, OfAPipelineCrossRanksThroughMessages) {
  const Plan plan = gpipe_of(3, 2, 4);
  EXPECT_THAT(waits_for(plan, find(plan, 0, "0F1")), ElementsAre());
  EXPECT_THAT(waits_for(plan, find(plan, 1, "1F1")), ElementsAre("1RECV_F1@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 1, "1B1")), ElementsAre("1F1@0", "1RECV_B1@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 2, "2B1")), ElementsAre("2F1@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 1, "1SEND_F1")), ElementsAre("1F1@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 1, "1SEND_B1")), ElementsAre("1B1@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 1, "1RECV_F1")), ElementsAre());
  EXPECT_THAT(waits_for(plan, find(plan, 1, "1UPDATE")), ElementsAre("1B1@0"));
}

TEST(Dependencies, OfAReductionAreTheBackwardsOfItsRun) {
  Case spec = case_of("data-parallel", 2, 4);
  spec.bucket = Bytes(300);  // layer 2 has 49 parameters, layer 1 36, layer 0 25
  const Plan plan = test_plan(spec, 3);
  EXPECT_THAT(waits_for(plan, find(plan, 1, "1-2ALL_REDUCE")), ElementsAre("1B0@0", "2B0@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 1, "0ALL_REDUCE")), ElementsAre("0B0@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 1, "1-2UPDATE")), ElementsAre("1-2ALL_REDUCE@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 0, "1F0")), ElementsAre("0F0@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 0, "1B0")), ElementsAre("1F0@0", "2B0@0"));
}

TEST(Dependencies, OfAForwardIncludeTheUpdateThatWroteItsVersion) {
  const Plan steps = unroll(gpipe_of(2, 1, 2), 2);
  EXPECT_THAT(waits_for(steps, find(steps, 0, "0F0", 1)), ElementsAre("0UPDATE@0"));
  EXPECT_THAT(waits_for(steps, find(steps, 1, "1F0", 1)), ElementsAre("1RECV_F0@1", "1UPDATE@0"));
  const Plan stream = pipedream_of(2, 4);
  EXPECT_THAT(waits_for(stream, find(stream, 0, "0F0", 1)), ElementsAre());
  EXPECT_THAT(waits_for(stream, find(stream, 0, "0F0", 3)), ElementsAre("0UPDATE@1"));
  EXPECT_THAT(waits_for(stream, find(stream, 1, "1F0", 3)), ElementsAre("1RECV_F0@3", "1UPDATE@2"));
}

TEST(Dependencies, NameOperationAndRankThatLackTheirInput) {
  Plan plan = gpipe_of(2, 2, 4);
  plan.ranks[1].lane(receives_from(Rank(0), Payload::activation)).pop_back();
  try {
    dependencies(plan, Rank(1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("1F1 of step 0 on rank 1"));
    EXPECT_EQ(error.code(), ExitCode::usage);
  }
}

TEST(Dependencies, OfASplitBackwardGoThroughItsInputGradient) {
  const Plan plan = test_plan(pipeline_case(split_schedule_names().front(), 3, 2));
  EXPECT_THAT(waits_for(plan, find(plan, 1, "1I1")), ElementsAre("1F1@0", "1RECV_B1@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 1, "1W1")), ElementsAre("1I1@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 1, "1SEND_B1")), ElementsAre("1I1@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 1, "1UPDATE")), ElementsAre("1W1@0"));
}

TEST(Dependencies, OfABackwardIncludeItsRecompute) {
  Case spec = pipeline_case("1f1b", 2, 2);
  spec.recompute = Recompute::all;
  const Plan plan = test_plan(spec);
  EXPECT_THAT(waits_for(plan, find(plan, 0, "0RECOMPUTE1")), ElementsAre("0F1@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 0, "0B1")), ElementsAre("0RECOMPUTE1@0", "0RECV_B1@0"));
}

// Device 1 of 2 has stages 1 and 2 of zb-v: the turn of the V needs no message.
TEST(Dependencies, BetweenStagesOfOneRankNeedNoMessage) {
  const Plan plan = test_plan(pipeline_case("zb-v", 2, 4));
  EXPECT_THAT(waits_for(plan, find(plan, 1, "2F1")), ElementsAre("1F1@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 1, "1I1")), ElementsAre("1F1@0", "2I1@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 0, "3F1")), ElementsAre("3RECV_F1@0"));
}

// Both pipelines of chimera pass through each rank, yet a piece stays in its own.
TEST(Dependencies, BetweenPipelinesThatCrossDoNotExist) {
  const Plan plan = test_plan(pipeline_case("chimera", 2, 2));
  const std::vector<std::string> of_rank_0 = {"0SEND_F0", "1SEND_B0", "1RECV_F0", "0RECV_B0"};
  for (const std::string& message : of_rank_0) find(plan, 0, message);
  EXPECT_THAT(waits_for(plan, find(plan, 0, "1F0")), ElementsAre("1RECV_F0@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 0, "0B0")), ElementsAre("0F0@0", "0RECV_B0@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 0, "0UPDATE")), ElementsAre("0ALL_REDUCE@0"));
  EXPECT_THAT(waits_for(plan, find(plan, 1, "0ALL_REDUCE")), ElementsAre("0B0@0"));
}

// Three ranks share stage 0: each reduces and updates after its own mini-batch of the group.
TEST(Dependencies, OfASharedStageAreTheRanksOwn) {
  const Plan plan = pipedream_of("3-1", 4, 2, 6);
  EXPECT_THAT(waits_for(plan, find(plan, 1, "0ALL_REDUCE", 2)), ElementsAre("0B0@1"));
  EXPECT_THAT(waits_for(plan, find(plan, 1, "0UPDATE", 2)), ElementsAre("0ALL_REDUCE@2"));
  EXPECT_THAT(waits_for(plan, find(plan, 3, "1F0", 4)), ElementsAre("1RECV_F0@4", "1UPDATE@3"));
}

TEST(Matching, JoinsSendsWithReceivesAndReductionsWithTheirPeers) {
  const auto partners = [](const Plan& plan, OpRef ref) {
    std::vector<std::string> result;
    const Matching matching = match(plan);
    for (const LaneRef& other : matching[ref.rank.value][ref.lane]) {
      result.push_back(describe(plan, {other.rank, other.lane, ref.index}));
    }
    return result;
  };
  const Plan pipe = gpipe_of(2, 2, 4);
  EXPECT_THAT(partners(pipe, find(pipe, 0, "0SEND_F1")), ElementsAre("1RECV_F1 of step 0 on rank 1"));
  EXPECT_THAT(partners(pipe, find(pipe, 1, "1RECV_F1")), ElementsAre("0SEND_F1 of step 0 on rank 0"));
  EXPECT_THAT(partners(pipe, find(pipe, 1, "1F1")), ElementsAre());
  const Plan replicas = test_plan(case_of("data-parallel", 3, 6), 2);
  EXPECT_THAT(partners(replicas, find(replicas, 1, "0-1ALL_REDUCE")),
              ElementsAre("0-1ALL_REDUCE of step 0 on rank 0", "0-1ALL_REDUCE of step 0 on rank 2"));
}

TEST(Matching, RejectsWhatDoesNotMeetItsLike) {
  Plan plan = gpipe_of(2, 2, 4);
  auto& receives = plan.ranks[1].lane(receives_from(Rank(0), Payload::activation));
  std::swap(receives[0], receives[1]);
  EXPECT_THROW(match(plan), Error);
  receives.pop_back();
  EXPECT_THROW(match(plan), Error);
  receives.clear();
  EXPECT_THROW(match(plan), Error);
}

TEST(Owners, AreTheRanksThatRunTheForwards) {
  const Plan plan = pipedream_of("3-1", 4, 2, 6);
  const PieceOwners owners(plan);
  for (int step = 0; step < 6; ++step) {
    EXPECT_EQ(owners.of({StageId(0), ReplicaId(0)}, MicroBatchId(0), StepId(step)), Rank(step % 3));
    EXPECT_EQ(owners.of({StageId(1), ReplicaId(0)}, MicroBatchId(0), StepId(step)), Rank(3));
  }
  const Plan crossed = test_plan(pipeline_case("chimera", 4, 4));
  EXPECT_EQ(PieceOwners(crossed).of({StageId(0), ReplicaId(0)}, MicroBatchId(1), StepId(0)), Rank(0));
  EXPECT_EQ(PieceOwners(crossed).of({StageId(0), ReplicaId(1)}, MicroBatchId(1), StepId(0)), Rank(3));
}

TEST(Lowering, PlacesEachMessageInTheOrderOfItsSenderAtBothEnds) {
  const auto lane = [](const Plan& plan, int rank, const LaneKey& key) {
    std::string text;
    for (const Op& op : plan.ranks[rank].lanes[plan.ranks[rank].find_lane(key)].ops) {
      if (!text.empty()) text += ' ';
      text += to_text(op);
      EXPECT_EQ(op.peer, key.peer);
    }
    return text;
  };
  const Plan plan = gpipe_of(3, 2, 4);
  EXPECT_EQ(lane(plan, 0, sends_to(Rank(1), Payload::activation)), "0SEND_F0 0SEND_F1");
  EXPECT_EQ(lane(plan, 1, receives_from(Rank(0), Payload::activation)), "1RECV_F0 1RECV_F1");
  EXPECT_EQ(lane(plan, 1, sends_to(Rank(2), Payload::activation)), "1SEND_F0 1SEND_F1");
  EXPECT_EQ(lane(plan, 1, receives_from(Rank(2), Payload::activation_gradient)), "1RECV_B0 1RECV_B1");
  EXPECT_EQ(lane(plan, 1, sends_to(Rank(0), Payload::activation_gradient)), "1SEND_B0 1SEND_B1");
  EXPECT_EQ(lane(plan, 2, sends_to(Rank(1), Payload::activation_gradient)), "2SEND_B0 2SEND_B1");
  // Both chunks' messages share a lane: device 1 sends stage 1 and stage 3 to device 0.
  const Plan looped = test_plan(pipeline_case("interleaved", 2, 2));
  EXPECT_EQ(lane(looped, 0, sends_to(Rank(1), Payload::activation)), "0SEND_F0 0SEND_F1 2SEND_F0 2SEND_F1");
  EXPECT_EQ(lane(looped, 1, sends_to(Rank(0), Payload::activation_gradient)), "3SEND_B0 3SEND_B1 1SEND_B0 1SEND_B1");
  EXPECT_EQ(lane(looped, 0, receives_from(Rank(1), Payload::activation_gradient)),
            "2RECV_B0 2RECV_B1 0RECV_B0 0RECV_B1");
}

TEST(Lowering, LeavesComputeLanesAsTheyAre) {
  std::mt19937 random(2);
  for (int round = 0; round < 100; ++round) {
    const Plan plan = random_plan(random);
    Plan bare = plan;
    for (RankProgram& rank : bare.ranks) {
      std::erase_if(rank.lanes,
                    [](const Lane& lane) { return is_message(lane.key.kind) && is_of_micro_batch(lane.key.purpose); });
    }
    EXPECT_EQ(add_messages(std::move(bare)), plan);
  }
}

TEST(ReceivingLate, AReceiveWaitsForWhatIsComputedTwoBeforeItIsTaken) {
  const Plan plan = gpipe_of(2, 4, 4);
  const LocalDependencies needs = dependencies(plan, Rank(1)), late = receiving_late(plan, Rank(1), needs);
  const std::vector<Lane>& lanes = plan.ranks[1].lanes;
  for (int l = 0; l < std::ssize(lanes); ++l)
    for (int i = 0; i < std::ssize(lanes[l].ops); ++i) {
      const auto before = needs.of(l, i), now = late.of(l, i);
      if (lanes[l].key.kind == LaneKind::receive && i >= 2) {
        EXPECT_TRUE(before.empty());
        EXPECT_THAT(now, ElementsAre(OpRef{Rank(1), compute_lane, i - 2})) << "forwards in the order of their receives";
      } else {
        EXPECT_TRUE(std::ranges::equal(before, now));
      }
    }
}

}  // namespace
}  // namespace parabench::plan
