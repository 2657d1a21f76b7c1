// A tensor that skips segments goes straight from the rank that makes it to those that take it.
#include "parallelism/plan/skip_ports.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "parallelism/plan/formats/print_csv.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/strategies/check_executable.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

/// One layer per stage.
Plan skipping(const std::string& strategy, int devices, int micro_batches, const std::vector<LayerSkip>& skips,
              int chunks = 1) {
  return test_plan(pipeline_case(strategy, devices, micro_batches, chunks), devices * chunks, 1, skips);
}

std::vector<std::string> skip_messages(const Plan& plan, int rank) {
  std::vector<std::string> texts;
  for (const Lane& lane : plan.ranks[rank].lanes) {
    for (const Op& op : lane.ops) {
      if (op.port > 0)
        texts.push_back(to_text(op) + (op.kind == OpKind::send ? "->" : "<-") + std::to_string(op.peer.value));
    }
  }
  return texts;
}

std::vector<std::string> waits_for(const Plan& plan, int rank, const std::string& text) {
  const LocalDependencies local = dependencies(plan, Rank(rank));
  std::vector<std::string> texts;
  for (int lane = 0; lane < std::ssize(plan.ranks[rank].lanes); ++lane) {
    const auto& ops = plan.ranks[rank].lanes[lane].ops;
    for (int i = 0; i < std::ssize(ops); ++i) {
      if (to_text(ops[i]) != text) continue;
      for (OpRef before : local.of(lane, i)) texts.push_back(to_text(at(plan, before)));
    }
  }
  return texts;
}

std::vector<std::string> complaints(const Plan& plan) {
  std::vector<std::string> texts;
  for (const Violation& v : validate(plan)) texts.push_back(v.rule + ": " + v.text);
  return texts;
}

TEST(SkipPorts, AreThoseOfTheModelBetweenItsSegments) {
  const std::vector<LayerSkip> skips = {{0, 3, 0}, {0, 5, 0}, {1, 2, 2}, {1, 5, 3}};
  const std::vector<Segment> cut = {{0, 1}, {1, 2}, {3, 2}, {5, 1}};
  EXPECT_THAT(skip_ports(cut, chain_model(6, skips)),
              ElementsAre(SkipPort{SegmentId(0), SegmentId(2), 0}, SkipPort{SegmentId(0), SegmentId(3), 0},
                          SkipPort{SegmentId(1), SegmentId(3), 3}));
  EXPECT_THAT(skip_ports(cut, chain_model(6)), IsEmpty());
}

TEST(SkipPorts, OfATensorThatASegmentTakesTwiceAreOne) {
  const std::vector<Segment> cut = {{0, 1}, {1, 2}};
  EXPECT_THAT(skip_ports(cut, chain_model(3, {{0, 1, 0}, {0, 2, 0}})),
              ElementsAre(SkipPort{SegmentId(0), SegmentId(1), 0}));
}

TEST(SkipMessages, PassByTheRanksBetween) {
  const Plan plan = skipping("gpipe", 3, 1, {{0, 2, 0}});
  EXPECT_THAT(skip_messages(plan, 0), ElementsAre("0SEND_F0^1->2", "0RECV_B0^1<-2"));
  EXPECT_THAT(skip_messages(plan, 1), IsEmpty());
  EXPECT_THAT(skip_messages(plan, 2), ElementsAre("2RECV_F0^1<-0", "2SEND_B0^1->0"));
  EXPECT_THAT(validate(plan), IsEmpty());
}

TEST(SkipMessages, AreWaitedForByForwardOfTheTakerAndBackwardOfTheMaker) {
  const Plan plan = skipping("gpipe", 3, 1, {{0, 2, 0}});
  EXPECT_THAT(waits_for(plan, 2, "2F0"), ElementsAre("2RECV_F0", "2RECV_F0^1"));
  EXPECT_THAT(waits_for(plan, 0, "0B0"), ElementsAre("0F0", "0RECV_B0", "0RECV_B0^1"));
  EXPECT_THAT(waits_for(plan, 0, "0SEND_F0^1"), ElementsAre("0F0"));
  EXPECT_THAT(waits_for(plan, 2, "2SEND_B0^1"), ElementsAre("2B0"));
  EXPECT_THAT(waits_for(plan, 1, "1B0"), ElementsAre("1F0", "1RECV_B0"));
}

TEST(SkipMessages, BetweenNeighboursStandBesideTheBoundarys) {
  const Plan plan = skipping("gpipe", 2, 2, {{0, 1, 1}});
  EXPECT_THAT(skip_messages(plan, 0), ElementsAre("0SEND_F0^1->1", "0SEND_F1^1->1", "0RECV_B0^1<-1", "0RECV_B1^1<-1"));
  EXPECT_EQ(plan.ranks[0].lanes.size(), 3u);
}

// Interleaved, two devices of two chunks: stages 0 and 2 on device 0.
TEST(SkipMessages, AreNoneWithinARank) {
  const Plan plan = skipping("interleaved", 2, 2, {{0, 2, 0}, {1, 3, 2}}, 2);
  for (const int rank : {0, 1}) EXPECT_THAT(skip_messages(plan, rank), IsEmpty());
  EXPECT_THAT(waits_for(plan, 0, "2F0"), ElementsAre("2RECV_F0", "0F0"));
  EXPECT_THAT(waits_for(plan, 0, "0B1"), ElementsAre("0F1", "0RECV_B1", "2B1"));
  EXPECT_THAT(validate(plan), IsEmpty());
}

// Stages 1 and 3 are on one device: it gets the tensor once, and returns the gradient once.
TEST(SkipMessages, OfOneTensorGoOnceToEachRankThatTakesIt) {
  const Plan plan = skipping("interleaved", 2, 2, {{0, 1, 0}, {0, 2, 0}, {0, 3, 0}}, 2);
  EXPECT_THAT(skip_messages(plan, 0),
              UnorderedElementsAre("0SEND_F0^1->1", "0SEND_F1^1->1", "0RECV_B0^1<-1", "0RECV_B1^1<-1"));
  EXPECT_THAT(waits_for(plan, 1, "1F0"), ElementsAre("1RECV_F0", "1RECV_F0^1"));
  EXPECT_THAT(waits_for(plan, 1, "3F0"), ElementsAre("3RECV_F0", "1RECV_F0^1"));
  EXPECT_THAT(waits_for(plan, 1, "1SEND_B0^1"), ElementsAre("1B0"));
  EXPECT_THAT(waits_for(plan, 0, "0B0"), ElementsAre("0F0", "0RECV_B0", "0RECV_B0^1", "2B0"));
  EXPECT_THAT(validate(plan), IsEmpty());
}

TEST(SkipMessages, StayWithinTheReplicaAndReachWhoComputesThePiece) {
  const Plan crossed = skipping("chimera", 4, 4, {{0, 2, 0}});
  EXPECT_THAT(skip_messages(crossed, 0),
              ElementsAre("0SEND_F0^1->2", "0SEND_F1^1->2", "0RECV_B0^1<-2", "0RECV_B1^1<-2"));
  EXPECT_THAT(skip_messages(crossed, 1),
              ElementsAre("2RECV_F0^1<-3", "2RECV_F1^1<-3", "2SEND_B0^1->3", "2SEND_B1^1->3"));
  Case spec = case_of("pipedream", 4, 2);
  spec.strategy.parameters = {{"replicas", "1-1-2"}};
  const Plan shared = test_plan(spec, 3, 4, {{0, 2, 0}});
  EXPECT_THAT(validate(shared), IsEmpty());
  std::vector<int> peers;
  for (const Op& op : shared.ranks[0].lanes[shared.ranks[0].find_lane(sends_to(Rank(3), Payload::activation))].ops)
    peers.push_back(op.step.value);
  EXPECT_THAT(peers, ElementsAre(1, 3));
}

TEST(SkipMessages, MissingOrOneTooManyAreTold) {
  const Plan good = skipping("gpipe", 3, 1, {{0, 2, 0}});
  Plan missing = good;
  missing.ranks[0].lane(sends_to(Rank(2), Payload::activation)).clear();
  missing.ranks[2].lane(receives_from(Rank(0), Payload::activation)).clear();
  EXPECT_THAT(complaints(missing), ElementsAre("exactly once: 0F0 of step 0 on rank 0 lacks 0SEND_F0^1 to rank 2"));
  Plan extra = good;
  extra.skips.push_back({SegmentId(0), SegmentId(2), 1});
  Op send = extra.ranks[0].lane(sends_to(Rank(2), Payload::activation)).front();
  EXPECT_THAT(complaints(extra), testing::SizeIs(2));  // the activation and its gradient
  extra.skips.pop_back();
  extra.ranks[0].lane(sends_to(Rank(2), Payload::activation)).push_back(send);
  extra.ranks[2].lane(receives_from(Rank(0), Payload::activation)).push_back(receive_of(send, Rank(0), extra.skips));
  EXPECT_THAT(complaints(extra), ElementsAre("exactly once: 0SEND_F0^1 of step 0 on rank 0 again",
                                             "exactly once: 2RECV_F0^1 of step 0 on rank 2 again"));
  Plan wrong = good;
  send.port = 0;
  wrong.ranks[0].lane(sends_to(Rank(2), Payload::activation)).front() = send;
  EXPECT_THAT(complaints(wrong), testing::Contains(HasSubstr("does not join")));
  wrong = good;
  wrong.ranks[0].lane(sends_to(Rank(2), Payload::activation)).front().port = 2;
  EXPECT_THAT(complaints(wrong), ElementsAre("fields: 0SEND_F0^2 of step 0 on rank 0: port out of range"));
  wrong = good;
  std::swap(wrong.skips[0].from, wrong.skips[0].to);
  EXPECT_THAT(complaints(wrong), testing::Contains(HasSubstr("skips: skip 0")));
}

TEST(SkipMessages, AreInThePlanFileOnlyWhereThereAreSkips) {
  const Plan plan = skipping("1f1b", 3, 2, {{0, 2, 0}});
  EXPECT_EQ(plan_from_json(to_json(plan)), plan);
  EXPECT_EQ(to_json(plan)["skips"].dump(), R"([{"from":0,"tensor":0,"to":2}])");
  const std::string without = to_json(skipping("1f1b", 3, 2, {})).dump();
  EXPECT_THAT(without, testing::Not(testing::AnyOf(HasSubstr("skips"), HasSubstr("port"))));
  nlohmann::json wrong = to_json(plan);
  wrong["ranks"][0]["lanes"]["send:activation:2"][0]["port"] = 0;
  EXPECT_THROW(plan_from_json(wrong), Error);
  EXPECT_THAT(to_csv(plan), testing::Not(HasSubstr("^")));
}

TEST(SkipMessages, OfAnotherModelAreNotExecuted) {
  const std::vector<LayerSkip> skips = {{0, 2, 0}};
  const Plan plan = skipping("1f1b", 3, 2, skips);
  EXPECT_NO_THROW(check_executable(plan, chain_model(3, skips)));
  EXPECT_THROW(check_executable(plan, chain_model(3)), Error);
}

}  // namespace
}  // namespace parabench::plan
