// Updates in shares: what may follow a reduce-scatter, what an all-gather has to follow.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/strategies/check_executable.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int ranks = 3;
const LaneKey sums = collectives_of(GroupId(0), Payload::gradients);
const LaneKey gathers = collectives_of(GroupId(0), Payload::parameters);

/// Data-parallel, three layers, each a bucket.
Plan whole() {
  Case spec = case_of("data-parallel", ranks, 6);
  spec.bucket = Bytes(1);
  return test_plan(spec, 3);
}

std::vector<std::string> rules(const Plan& plan) {
  std::vector<std::string> result;
  for (const Violation& v : validate(plan)) result.push_back(v.rule);
  return result;
}

TEST(ShardedUpdates, AreGoodPlansOverAnyWindow) {
  Plan plan = sharded(whole());
  EXPECT_THAT(rules(plan), IsEmpty());
  EXPECT_THAT(rules(unroll(plan, 4)), IsEmpty());
  EXPECT_EQ(plan_from_json(to_json(plan)), plan);
  RankProgram& rank = plan.ranks[1];
  EXPECT_THAT(texts(rank.lane(sums)), ElementsAre("2REDUCE_SCATTER", "1REDUCE_SCATTER", "0REDUCE_SCATTER"));
  EXPECT_THAT(texts(rank.lane(gathers)), ElementsAre("2ALL_GATHER", "1ALL_GATHER", "0ALL_GATHER"));
}

// The next step's forward needs its input and the gathered weights: two other lanes, and in a pipeline a third.
TEST(ShardedUpdates, AForwardWaitsForItsInputAndForTheWeightsThatAreGathered) {
  const Plan plan = unroll(sharded(test_plan(pipeline_case("gpipe", 2, 1, 2, 2))), 2);
  ASSERT_THAT(rules(plan), IsEmpty());
  const RankProgram& rank = plan.ranks[1];
  const LocalDependencies needs = dependencies(plan, Rank(1));
  for (int i = 0; i < std::ssize(rank.compute()); ++i) {
    const Op& op = rank.compute()[i];
    if (op.kind != OpKind::forward || op.step == StepId(0)) continue;
    std::vector<std::string> before;
    for (const OpRef& ref : needs.of(compute_lane, i)) before.push_back(describe(plan, ref));
    EXPECT_THAT(before, ElementsAre("1RECV_F0 of step 1 on rank 1", "1ALL_GATHER of step 0 on rank 1"));
  }
}

/// Rank 0 alone updates, the others get what it wrote.
Plan updated_by_one() {
  Plan plan = whole();
  for (int r = 0; r < ranks; ++r) {
    RankProgram& rank = plan.ranks[r];
    std::vector<Op> updates;
    std::ranges::copy_if(rank.compute(), std::back_inserter(updates),
                         [](const Op& op) { return op.kind == OpKind::update; });
    if (r > 0) std::erase_if(rank.compute(), [](const Op& op) { return op.kind == OpKind::update; });
    for (const Op& op : updates) {
      rank.lane(gathers).push_back(broadcast(op.segment, op.segments, op.step, op.version, GroupId(0), Rank(0)));
    }
  }
  return plan;
}

TEST(ShardedUpdates, AreExecutedAsLongAsTheWeightsHaveOneVersion) {
  const auto why = [](const Plan& plan) -> std::string {
    try {
      check_executable(plan, chain_model(3));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(why(whole()), "");
  EXPECT_EQ(why(sharded(whole())), "");
  Plan plan = sharded(whole());
  plan.ranks[1].weight_versions = 2;
  EXPECT_THAT(why(plan), AllOf(HasSubstr("UPDATE in shares with 2 versions"), HasSubstr("device:emulated")));
  EXPECT_THAT(why(updated_by_one()), HasSubstr("BROADCAST"));
  plan = whole();
  plan.shards = 2;
  EXPECT_THAT(why(plan), HasSubstr("2 shards"));
  EXPECT_THAT([] { check_executable(whole(), chain_model(4)); }, testing::ThrowsMessage<Error>(HasSubstr("3 layers")));
}

TEST(Lanes, OfNoGroupOrPeerAreFoundAlsoWhenEmpty) {
  for (const LaneKey& key : {collectives_of(GroupId(7), Payload::gradients), sends_to(Rank(99), Payload::activation)}) {
    Plan plan = whole();
    plan.ranks[0].lane(key);
    EXPECT_THAT(rules(plan), Contains("fields"));
  }
  Plan plan = whole();
  plan.shards = 2'000'000'000;
  EXPECT_THAT(rules(plan), Contains("placement"));
}

TEST(ShardedUpdates, MayNotTakeMoreThanTheReduceScatterLeft) {
  Plan plan = sharded(whole());
  for (RankProgram& rank : plan.ranks) {
    for (Op& op : rank.compute()) op.group = GroupId(-1);
    rank.lanes.erase(rank.lanes.begin() + rank.find_lane(gathers));
  }
  EXPECT_THAT(rules(plan), Contains("shard"));
}

TEST(ShardedUpdates, MayNotCutARunOtherwiseThanTheReduceScatter) {
  Plan plan = sharded(whole());
  for (RankProgram& rank : plan.ranks) {
    auto& scattered = rank.lane(sums);
    scattered = {reduce_scatter(SegmentId(0), 3, StepId(0), GroupId(0))};
  }
  EXPECT_THAT(rules(plan), Contains("shard"));
}

TEST(ShardedUpdates, MustBeGathered) {
  Plan plan = sharded(whole());
  for (RankProgram& rank : plan.ranks) rank.lane(gathers).pop_back();
  EXPECT_THAT(rules(plan), Contains("shard"));
  plan = whole();
  for (RankProgram& rank : plan.ranks) {
    rank.lane(gathers).push_back(all_gather(SegmentId(0), 1, StepId(0), VersionId(1), GroupId(0)));
  }
  EXPECT_THAT(rules(plan), Contains("shard"));
}

Plan sharded_by_norms() {
  Plan plan = whole();
  plan.spec.optimizer.name = "lars";
  return sharded(std::move(plan));
}

TEST(ShardedUpdates, HaveNormsSummedWhereTheOptimizerReadsThem) {
  const Plan plan = sharded_by_norms();
  const LaneKey norm_sums = collectives_of(GroupId(0), Payload::norms);
  EXPECT_THAT(rules(plan), IsEmpty());
  EXPECT_THAT(rules(unroll(plan, 3)), IsEmpty());
  EXPECT_EQ(plan_from_json(to_json(plan)), plan);
  // Each of the norms waits for the share of the gradients, their sum for them, and the update for the sum.
  const LocalDependencies needs = dependencies(plan, Rank(1));
  const auto waits_for = [&](int lane, int index) {
    std::vector<std::string> before;
    for (const OpRef& ref : needs.of(lane, index)) before.push_back(to_text(at(plan, ref)));
    return before;
  };
  const RankProgram& rank = plan.ranks[1];
  int updates = 0;
  for (int i = 0; i < std::ssize(rank.compute()); ++i) {
    if (rank.compute()[i].kind != OpKind::update) continue;
    const std::string run = std::to_string(rank.compute()[i].segment.value);
    EXPECT_THAT(waits_for(compute_lane, i - 1), ElementsAre(run + "REDUCE_SCATTER"));
    EXPECT_THAT(waits_for(rank.find_lane(norm_sums), updates++), ElementsAre(run + "NORMS"));
    EXPECT_THAT(waits_for(compute_lane, i), ElementsAre(run + "REDUCE_SCATTER", run + "ALL_REDUCE_NORMS"));
  }
  EXPECT_EQ(updates, 3);

  Plan wrong = plan;
  for (RankProgram& r : wrong.ranks) r.lane(norm_sums).pop_back();
  EXPECT_THAT(rules(wrong), Contains("exactly once"));
  wrong = plan;
  wrong.spec.optimizer.name = "adam";
  EXPECT_THAT(rules(wrong), Contains("exactly once"));
}

TEST(ShardedUpdates, AreGatheredInTheSameOrderByAll) {
  Plan plan = sharded(whole());
  std::swap(plan.ranks[2].lane(gathers)[0], plan.ranks[2].lane(gathers)[1]);
  EXPECT_THAT(rules(plan), Contains("pairing"));
}

TEST(Collectives, OfGradientsJoinAllHoldersOfTheStage) {
  Plan plan = whole();
  plan.groups[0].ranks = {Rank(0), Rank(1)};
  plan.ranks[2].lanes.pop_back();
  EXPECT_THAT(rules(plan), Contains("group"));
}

TEST(Broadcasts, MayReplaceTheUpdatesOfAllButTheirRoot) {
  Plan plan = updated_by_one();
  EXPECT_THAT(rules(plan), IsEmpty());
  EXPECT_THAT(rules(unroll(plan, 3)), IsEmpty());
  EXPECT_EQ(plan_from_json(to_json(plan)), plan);
  plan.ranks[1].compute().push_back(update(SegmentId(0), 1, StepId(0), VersionId(1)));
  EXPECT_THAT(rules(plan), Contains("exactly once"));
  plan = updated_by_one();
  for (RankProgram& rank : plan.ranks) rank.lane(gathers).clear();
  EXPECT_THAT(rules(plan), Contains("exactly once"));
}

}  // namespace
}  // namespace parabench::plan
