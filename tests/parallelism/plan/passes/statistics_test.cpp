// Statistics of batch norms that copies of the model add up.
#include "parallelism/plan/passes/statistics.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/spec/synchronised.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/strategies/check_executable.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A stem and a residual block: three batch norms in two layers, and a head.
models::ModelSpec network() {
  using namespace models;
  LayerSpec block = chain("b", {{"b.conv1", Conv2d{4, 4, 3, 1, 1}},
                                {"b.bn1", BatchNorm{4}},
                                {"b.relu", Relu{}},
                                {"b.conv2", Conv2d{4, 4, 3, 1, 1}},
                                {"b.bn2", BatchNorm{4}}});
  append(block, {"b.add", Add{}}, {4, layer_input});
  return {"small",
          {3, 5, 5},
          4,
          {chain("s", {{"s.conv", Conv2d{3, 4, 3, 1, 1}}, {"s.bn", BatchNorm{4}}}), block,
           chain("h", {{"h.gap", GlobalAveragePool{}}, {"h.fc", Linear{4, 4}}})}};
}

Case synchronised_case(const std::string& strategy, int np, int batch) {
  Case spec = case_of(strategy, np, batch);
  spec.bucket = Bytes(find_strategy(strategy).uses("bucket") ? 64 : Case{}.bucket.value);
  spec.sync_bn = true;
  return spec;
}
Plan plan_of(const Case& spec) {
  const models::ModelSpec model = models::synchronised(network());
  return make_plan(spec, model, std::vector<double>(model.layers.size(), 1.0), 1);
}
Plan plan_of(const std::string& strategy, int np = 2, int batch = 8) {
  return plan_of(synchronised_case(strategy, np, batch));
}

std::vector<std::string> rules(const Plan& plan) {
  std::vector<std::string> found;
  for (const Violation& violation : validate(plan)) found.push_back(violation.rule);
  return found;
}

const std::vector<Op>& sums(const Plan& plan, int rank, Payload payload) {
  for (const Lane& lane : plan.ranks[rank].lanes)
    if (is_collectives_of(lane.key, payload)) return lane.ops;
  static const std::vector<Op> none;
  return none;
}

TEST(Statistics, AreSummedBehindEveryPartThatMakesThemAndTheirGradientsInReverse) {
  const Plan plan = plan_of("data-parallel", 3, 7);
  EXPECT_THAT(plan.statistics, ElementsAre(SegmentId(0), SegmentId(2), SegmentId(3)));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(lane_text(sums(plan, rank, Payload::activation)), "0ALL_REDUCE_F0 2ALL_REDUCE_F0 3ALL_REDUCE_F0");
    EXPECT_EQ(lane_text(sums(plan, rank, Payload::activation_gradient)),
              "4ALL_REDUCE_B0 3ALL_REDUCE_B0 1ALL_REDUCE_B0");
  }
  EXPECT_EQ(lane_text(plan.ranks[0].compute()).substr(0, 23), "0F0 1F0 2F0 3F0 4F0 5F0");
}

class EveryUser : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryUser, HasAGoodPlanThatRanksCanExecute) {
  for (const auto& [np, batch] : {std::pair(2, 8), std::pair(3, 7), std::pair(4, 8)}) {
    for (const Recompute recompute : {Recompute::none, Recompute::all}) {
      Case spec = synchronised_case(std::string(GetParam()), np, batch);
      spec.recompute = recompute;
      const Plan plan = plan_of(spec);
      EXPECT_THAT(rules(plan), IsEmpty());
      EXPECT_THAT(rules(unroll(plan, 3)), IsEmpty());
      EXPECT_EQ(plan_from_json(to_json(plan)), plan);
      EXPECT_NO_THROW(check_executable(plan, models::synchronised(network())));
      EXPECT_THROW(check_executable(plan, network()), Error);
    }
  }
}

std::vector<std::string_view> users() {
  std::vector<std::string_view> names;
  for (const Strategy& strategy : strategies())
    if (strategy.uses("sync_bn")) names.push_back(strategy.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Strategies, EveryUser, testing::ValuesIn(users()), [](const auto& test) {
  std::string name(test.param);
  std::erase(name, '-');
  return name;
});

TEST(Statistics, GroupsAndOrdersOfOtherSumsDoNotTouchThem) {
  Case groups = synchronised_case("zero2", 4, 8), order = synchronised_case("data-parallel", 4, 8);
  groups.shard = 2;
  order.bucket = Case{}.bucket;
  order.order = {"priority", {{"partition", "64"}}};
  for (const Case& spec : {groups, order}) {
    const Plan plan = plan_of(spec);
    EXPECT_THAT(rules(unroll(plan, 2)), IsEmpty());
    EXPECT_EQ(plan.groups[sums(plan, 0, Payload::activation).front().group.value].ranks.size(), 4u);
  }
}

TEST(Statistics, OfOneRankAreItsOwn) {
  Case spec = case_of("data-parallel", 1, 4);
  const Plan plan = plan_of(spec);
  EXPECT_THAT(plan.statistics, testing::SizeIs(3));
  EXPECT_THAT(plan.groups, IsEmpty());
  EXPECT_THAT(rules(plan), IsEmpty());
}

TEST(Statistics, APlanThatLeavesASumOutIsRefused) {
  for (const Payload payload : {Payload::activation, Payload::activation_gradient}) {
    Plan plan = plan_of("data-parallel");
    for (RankProgram& rank : plan.ranks) {
      auto& ops = rank.lane(collectives_of(sums(plan, 0, payload).front().group, payload));
      ops.erase(ops.begin() + 1);
    }
    const Violations found = validate(plan);
    ASSERT_THAT(found, testing::SizeIs(2)) << "one for each rank";
    EXPECT_EQ(found[0].rule, "exactly once");
    EXPECT_THAT(found[0].text, HasSubstr("the sum of statistics"));
  }
  Plan plan = plan_of("data-parallel");
  for (RankProgram& rank : plan.ranks)
    std::erase_if(rank.lanes, [](const Lane& lane) { return is_of_micro_batch(lane.key.purpose); });
  EXPECT_THAT(rules(plan), testing::SizeIs(2 * 6));
}

TEST(Statistics, APlanThatSumsTwiceOrAmongOthersIsRefused) {
  Plan twice = plan_of("data-parallel");
  for (RankProgram& rank : twice.ranks) {
    auto& ops = rank.lane(collectives_of(sums(twice, 0, Payload::activation).front().group, Payload::activation));
    ops.push_back(ops.back());
  }
  EXPECT_THAT(rules(twice), Contains("exactly once"));
  Plan halves = plan_of("data-parallel", 4);
  const GroupId group = sums(halves, 0, Payload::activation).front().group;
  halves.groups[group.value].ranks = {Rank(0), Rank(1)};
  for (int rank : {2, 3})
    std::erase_if(halves.ranks[rank].lanes, [](const Lane& lane) { return is_of_micro_batch(lane.key.purpose); });
  EXPECT_THAT(rules(halves), Contains("group"));
}

TEST(Statistics, SegmentsThatDoNotGoOnAreRefused) {
  Plan plan = plan_of("data-parallel");
  plan.statistics.back() = last_segment(plan);
  EXPECT_THAT(rules(plan), Contains("statistics"));
  plan = plan_of("data-parallel");
  std::swap(plan.statistics[0], plan.statistics[1]);
  EXPECT_THAT(rules(plan), Contains("statistics"));
  // Of a segment that makes no statistics nothing is summed.
  plan = plan_of("data-parallel");
  plan.statistics.erase(plan.statistics.begin());
  EXPECT_THAT(rules(plan), Contains("group"));
}

TEST(Statistics, AreRefusedWhereTheyMakeNoSense) {
  const auto refusal = [](Case spec, const models::ModelSpec& model) {
    spec.bucket = Case{}.bucket;
    return refusal_of(spec, model);
  };
  const models::ModelSpec model = models::synchronised(network());
  EXPECT_EQ(refusal(synchronised_case("data-parallel", 2, 8), model), "accepted");
  // Of one sample each: batch norms see both.
  models::ModelSpec lonely = chain_model(1);
  lonely.input = {4, 1, 1};
  lonely.layers = {models::chain("norm", {{"bn", models::BatchNorm{4}}, {"flat", models::Flatten{}}})};
  Case apart = synchronised_case("data-parallel", 2, 2);
  EXPECT_EQ(refusal(apart, models::synchronised(lonely)), "accepted");
  apart.sync_bn = false;
  EXPECT_THAT(refusal(apart, lonely), HasSubstr("a single value per channel"));
  EXPECT_THAT(refusal(synchronised_case("data-parallel", 2, 8), chain_model(3)),
              HasSubstr("sync_bn: got 'on', expected off for chain, which has no batch norms"));
  EXPECT_THAT(refusal(synchronised_case("data-parallel", 1, 8), model), HasSubstr("one rank has the whole batch"));
  Case compressed = synchronised_case("data-parallel", 2, 8);
  compressed.compress = {"bf16", {}};
  EXPECT_THAT(refusal(compressed, model), HasSubstr("off with compress:bf16"));
  for (const char* other : {"gpipe", "local-sgd", "parameter-server", "c10d"})
    EXPECT_THAT(refusal(synchronised_case(other, 2, 8), model),
                testing::AllOf(HasSubstr(std::string(other) + " does not use this key"),
                               HasSubstr("data-parallel, horovod, dear, zero1, zero2 or zero3")));
}

}  // namespace
}  // namespace parabench::plan
