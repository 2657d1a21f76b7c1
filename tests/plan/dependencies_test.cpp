#include "parallelism/plan/dependencies.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "parallelism/plan/lowering.h"
#include "tests/plan/plans.h"

namespace parabench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Text of what the operation waits for, in order.
std::vector<std::string> waits_for(const Plan& plan, OpRef ref) {
  std::vector<std::string> result;
  const auto local = dependencies(plan, ref.rank);
  for (OpRef before : local[static_cast<int>(ref.lane)][ref.index]) {
    const Op& op = at(plan, before);
    result.push_back(to_text(op) + "@" + std::to_string(op.step));
  }
  return result;
}

OpRef find(const Plan& plan, int rank, const std::string& text, int step = 0) {
  for (Lane lane : all_lanes) {
    const auto& ops = plan.ranks[rank].lane(lane);
    for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
      if (to_text(ops[i]) == text && ops[i].step == step) return {Rank(rank), lane, i};
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
  const Plan plan = plan_of(spec, 3);
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
  plan.ranks[1].lane(Lane::p2p_forward).pop_back();
  try {
    dependencies(plan, Rank(1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("1F1 of step 0 on rank 1"));
    EXPECT_EQ(error.code(), ExitCode::usage);
  }
}

TEST(Matching, JoinsSendsWithReceivesAndReductionsWithTheirPeers) {
  const Plan pipe = gpipe_of(2, 2, 4);
  const OpRef send = find(pipe, 0, "0SEND_F1"), receive = find(pipe, 1, "1RECV_F1");
  const Matching matching = match(pipe);
  const auto partners = [&](const Matching& m, OpRef ref) {
    return m.partners[ref.rank.value][static_cast<int>(ref.lane)][ref.index];
  };
  EXPECT_THAT(partners(matching, send), ElementsAre(receive));
  EXPECT_THAT(partners(matching, receive), ElementsAre(send));
  const Plan replicas = plan_of(case_of("data-parallel", 3, 6), 2);
  const Matching groups = match(replicas);
  EXPECT_THAT(partners(groups, {Rank(1), Lane::collectives, 0}),
              ElementsAre(OpRef{Rank(0), Lane::collectives, 0}, OpRef{Rank(2), Lane::collectives, 0}));
}

TEST(Matching, RejectsWhatDoesNotMeetItsLike) {
  Plan plan = gpipe_of(2, 2, 4);
  auto& receives = plan.ranks[1].lane(Lane::p2p_forward);
  std::swap(receives[0], receives[1]);
  EXPECT_THROW(match(plan), Error);
  receives.pop_back();
  EXPECT_THROW(match(plan), Error);
}

TEST(Lowering, PlacesEachReceiveWithItsSend) {
  const auto lane = [](const Plan& plan, int rank, Lane l) {
    std::string text;
    for (const Op& op : plan.ranks[rank].lane(l)) text += (text.empty() ? "" : " ") + to_text(op);
    return text;
  };
  const Plan plan = gpipe_of(3, 2, 4);
  EXPECT_EQ(lane(plan, 0, Lane::p2p_forward), "0SEND_F0 0SEND_F1");
  EXPECT_EQ(lane(plan, 1, Lane::p2p_forward), "1RECV_F0 1SEND_F0 1RECV_F1 1SEND_F1");
  EXPECT_EQ(lane(plan, 1, Lane::p2p_backward), "1RECV_B0 1SEND_B0 1RECV_B1 1SEND_B1");
  EXPECT_EQ(lane(plan, 2, Lane::p2p_backward), "2SEND_B0 2SEND_B1");
  EXPECT_EQ(plan.ranks[1].lane(Lane::p2p_forward)[1].peer, Rank(2));
  EXPECT_EQ(plan.ranks[1].lane(Lane::p2p_backward)[1].peer, Rank(0));
}

TEST(Lowering, RejectsAnOrderInWhichNoRankCanGoOn) {
  Plan plan = gpipe_of(2, 1, 1);
  for (RankProgram& rank : plan.ranks) {
    rank.lane(Lane::p2p_forward).clear();
    rank.lane(Lane::p2p_backward).clear();
  }
  std::swap(plan.ranks[0].lane(Lane::compute)[0], plan.ranks[0].lane(Lane::compute)[1]);
  EXPECT_THROW(add_messages(plan), Error);
}

}  // namespace
}  // namespace parabench
