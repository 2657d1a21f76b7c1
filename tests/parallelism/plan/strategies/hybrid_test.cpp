// ZeRO whose ranks share in groups: what the key shard says.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/state/state_layout.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Case hybrid(const std::string& strategy, int np, std::optional<int> shard) {
  Case spec = case_of(strategy, np, 2 * np);
  spec.bucket = Bytes(1);
  spec.shard = shard;
  return spec;
}

std::vector<std::string> lanes(const Plan& plan, int rank) {
  std::vector<std::string> names;
  for (const Lane& lane : plan.ranks[rank].lanes) names.push_back(name(lane.key));
  return names;
}

std::vector<int> values(const Group& group) {
  std::vector<int> ranks;
  for (const Rank r : group.ranks) ranks.push_back(r.value);
  return ranks;
}

TEST(Hybrid, NeighboursShareAndThoseWithTheSameShareSumIt) {
  const Plan plan = test_plan(hybrid("zero1", 6, 3), 2);
  ASSERT_EQ(plan.groups.size(), 5u);
  EXPECT_THAT(values(plan.groups[0]), ElementsAre(0, 1, 2));
  EXPECT_THAT(values(plan.groups[1]), ElementsAre(3, 4, 5));
  EXPECT_THAT(values(plan.groups[2]), ElementsAre(0, 3));
  EXPECT_THAT(values(plan.groups[4]), ElementsAre(2, 5));
  EXPECT_THAT(lanes(plan, 4), ElementsAre("compute", "collectives:gradients:1", "collectives:gradient_shares:3",
                                          "collectives:parameters:1"));
  EXPECT_EQ(plan_from_json(nlohmann::json::parse(to_json(plan).dump())), plan);
}

TEST(Hybrid, UpdatesWaitForSumsOfSharesAndTheseForTheReduceScatter) {
  const Plan plan = unroll(test_plan(hybrid("zero2", 4, 2), 3), 2);
  ASSERT_THAT(validate(plan), IsEmpty());
  for (Rank r; r.value < 4; ++r) {
    const RankProgram& rank = plan.ranks[r.value];
    const LocalDependencies waits = dependencies(plan, r);
    for (int lane = 0; lane < std::ssize(rank.lanes); ++lane) {
      for (int i = 0; i < std::ssize(rank.lanes[lane].ops); ++i) {
        const Op& op = rank.lanes[lane].ops[i];
        const bool of_shares = op.payload == Payload::gradient_shares;
        if (!of_shares && op.kind != OpKind::update) continue;
        ASSERT_EQ(waits.of(lane, i).size(), 1u);
        const Op& before = at(plan, waits.of(lane, i).front());
        EXPECT_EQ(before.kind, of_shares ? OpKind::reduce_scatter : OpKind::all_reduce);
        EXPECT_EQ(before.segment, op.segment);
        EXPECT_EQ(before.step, op.step);
      }
    }
  }
}

TEST(Hybrid, OneGroupIsNoGroupsAndGroupsOfOneShareNothing) {
  for (const char* strategy : {"zero1", "zero2", "zero3"}) {
    Plan named = test_plan(hybrid(strategy, 4, 4), 3), all = test_plan(hybrid(strategy, 4, std::nullopt), 3);
    named.spec = all.spec;
    EXPECT_EQ(named, all) << strategy;
    Plan alone = test_plan(hybrid(strategy, 4, 1), 3), copies = test_plan(hybrid("data-parallel", 4, std::nullopt), 3);
    alone.spec = copies.spec;
    EXPECT_EQ(alone, copies) << strategy;
  }
}

TEST(Hybrid, IsAGoodPlanForEveryDivisorAndLeavesNoShareOut) {
  for (const char* strategy : {"zero1", "zero2", "zero3"}) {
    for (const int np : {2, 4, 6, 8, 12}) {
      for (int shard = 1; shard <= np; ++shard) {
        if (np % shard != 0) continue;
        Case spec = hybrid(strategy, np, shard);
        if (np == 6) spec.optimizer.name = "lars";
        const models::ModelSpec model = chain_model(5);
        const Plan plan = make_plan(spec, model, std::vector<double>(5, 1.0), 1);
        EXPECT_THAT(validate(unroll(plan, 2)), IsEmpty()) << strategy << ' ' << np << ' ' << shard;
        // Uneven: some of the layers have fewer cache lines than ranks share them.
        std::int64_t updated = 0, whole = 0;
        for (Rank r; r.value < shard; ++r) {
          const StateLayout layout = state_layout(plan, ParameterSizes(model), r);
          whole = layout.elements;
          for (const ElementRange& range : layout.updated) updated += range.count;
        }
        EXPECT_EQ(updated, whole);
      }
    }
  }
}

TEST(Hybrid, RulesSeeSharesThatNobodySumsAndThoseThatOthersSum) {
  const Plan good = test_plan(hybrid("zero1", 4, 2), 2);
  const auto rules = [](const Plan& plan) {
    std::vector<std::string> found;
    for (const Violation& v : validate(plan)) found.push_back(v.rule);
    return found;
  };
  ASSERT_THAT(rules(good), IsEmpty());
  Plan bad = good;
  for (RankProgram& rank : bad.ranks)
    std::erase_if(rank.lanes, [](const Lane& lane) { return lane.key.purpose == Payload::gradient_shares; });
  EXPECT_THAT(rules(bad), testing::Each("exactly once"));
  bad = good;  // 0 with 3, 1 with 2: ranks that have other shares
  bad.groups[2].ranks = {Rank(0), Rank(3)};
  bad.groups[3].ranks = {Rank(1), Rank(2)};
  for (const auto& [rank, group] : {std::pair(2, GroupId(3)), {3, GroupId(2)}}) {
    for (Lane& lane : bad.ranks[rank].lanes) {
      if (lane.key.purpose != Payload::gradient_shares) continue;
      lane.key.group = group;
      for (Op& op : lane.ops) op.group = group;
    }
  }
  EXPECT_THAT(rules(bad), testing::Contains("group"));
  bad = good;  // 0 and 2 share, 1 and 3 share
  std::swap(bad.groups[0].ranks, bad.groups[2].ranks);
  EXPECT_THAT(rules(bad), testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace parabench::plan
