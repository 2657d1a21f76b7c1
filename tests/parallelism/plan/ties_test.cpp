// A tensor that the first and the last layer share: who sums its gradients, when, and where it is refused.
#include "parallelism/plan/ties.h"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/state/state_layout.h"
#include "parallelism/plan/strategies/check_executable.h"
#include "parallelism/plan/strategies/placement.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

/// Layers of 4 x 4 weights and 4 biases, of which the first and the last have the weights in common.
models::ModelSpec tied_chain(int layers) {
  models::ModelSpec model{.name = "tied", .input = {4}, .classes = 4, .layers = {}};
  for (int i = 0; i < layers; ++i) {
    const std::string name = "layer" + std::to_string(i);
    model.layers.push_back(models::chain(name, {{name, models::Linear{4, 4}}}));
  }
  model.tie = {models::find_parameter(model.layers, "layer0.weight"),
               models::find_parameter(model.layers, "layer" + std::to_string(layers - 1) + ".weight")};
  return model;
}

Plan tied_plan(const Case& spec, int layers, int steps = 1) {
  return make_plan(spec, tied_chain(layers), std::vector<double>(layers, 1.0), steps);
}

std::vector<std::string> rules(const Plan& plan) {
  std::vector<std::string> found;
  for (const Violation& v : validate(plan)) found.push_back(v.rule);
  return found;
}

/// Who sums the tied tensor's gradients, group by group.
std::vector<std::vector<int>> tied_groups(const Plan& plan) {
  std::vector<std::vector<int>> all;
  for (GroupId group; group.value < std::ssize(plan.groups); ++group) {
    std::vector<int> members;
    for (Rank r; r.value < std::ssize(plan.ranks); ++r) {
      if (plan.ranks[r.value].find_lane(collectives_of(group, Payload::tied_gradients)) >= 0)
        members.push_back(r.value);
    }
    if (!members.empty()) all.push_back(members);
  }
  return all;
}

std::vector<std::string> needs(const Plan& plan, int rank, const std::function<bool(const Op&)>& is_it) {
  const LocalDependencies all = dependencies(plan, Rank(rank));
  std::vector<std::string> texts;
  const auto& lanes = plan.ranks[rank].lanes;
  for (int lane = 0; lane < std::ssize(lanes); ++lane) {
    for (int i = 0; i < std::ssize(lanes[lane].ops); ++i) {
      if (!is_it(lanes[lane].ops[i])) continue;
      for (const OpRef& ref : all.of(lane, i)) texts.push_back(to_text(at(plan, ref)));
    }
  }
  return texts;
}

bool is_update(const Op& op) { return op.kind == OpKind::update; }
bool sums_data(const Op& op) { return op.payload == Payload::gradients; }
bool sums_tied(const Op& op) { return op.payload == Payload::tied_gradients; }

TEST(Ties, FirstAndLastStageOfEachReplicaSumTheTensorsGradients) {
  EXPECT_THAT(tied_groups(tied_plan(case_of("model-parallel", 3, 4), 4)), ElementsAre(ElementsAre(0, 2)));
  EXPECT_THAT(tied_groups(tied_plan(pipeline_case("1f1b", 4, 6), 4)), ElementsAre(ElementsAre(0, 3)));
  EXPECT_THAT(tied_groups(tied_plan(pipeline_case("interleaved", 2, 4), 5)), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(tied_groups(tied_plan(pipeline_case("gpipe", 2, 2, 1, 3), 4)),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5)));
}

TEST(Ties, RanksThatHaveBothEndsSendNothing) {
  for (const Case& spec : {case_of("sequential", 1, 4), case_of("data-parallel", 3, 6), pipeline_case("zb-v", 2, 4),
                           pipeline_case("dualpipev", 2, 4), pipeline_case("chimera", 2, 4),
                           pipeline_case("chimera", 4, 4), pipeline_case("1f1b", 1, 4), case_of("pipedream", 1, 4)}) {
    const Plan plan = tied_plan(spec, 8);
    ASSERT_TRUE(plan.tie) << spec.strategy.name;
    EXPECT_TRUE(plan.tie->shared) << spec.strategy.name;
    EXPECT_THAT(tied_groups(plan), IsEmpty()) << spec.strategy.name;
    EXPECT_THAT(rules(plan), IsEmpty()) << spec.strategy.name;
  }
}

TEST(Ties, PlansAreGoodOverAnyWindowAndKeptByTheirFile) {
  for (const std::string& name : schedule_names()) {
    for (const int dp : {1, 2}) {
      const Case spec = pipeline_case(name, 2, 4, 2, dp);
      const Plan plan = tied_plan(spec, 6);
      EXPECT_THAT(rules(plan), IsEmpty()) << name;
      EXPECT_THAT(rules(unroll(plan, 3)), IsEmpty()) << name;
      EXPECT_EQ(plan_from_json(to_json(plan)), plan) << name;
      EXPECT_NO_THROW(check_executable(plan, tied_chain(6))) << name;
      EXPECT_THROW(check_executable(test_plan(spec, 6), tied_chain(6)), Error) << name;
    }
  }
  EXPECT_FALSE(to_json(test_plan(pipeline_case("1f1b", 2, 4))).contains("tie"))
      << "files of other models are as before";
}

TEST(Ties, TheSumComesAfterTheLastBackwardAndBeforeReductionsAndUpdates) {
  const Plan alone = tied_plan(pipeline_case("zb-h2", 2, 3), 2);
  EXPECT_THAT(needs(alone, 0, sums_tied), ElementsAre("0W2"));
  EXPECT_THAT(needs(alone, 1, sums_tied), ElementsAre("1W2"));
  for (const int rank : {0, 1}) EXPECT_THAT(needs(alone, rank, is_update), ElementsAre("0ALL_REDUCE_TIED"));

  Case spec = pipeline_case("gpipe", 2, 1, 1, 2);
  spec.bucket = Bytes(1);
  const Plan copies = tied_plan(spec, 4);
  EXPECT_THAT(needs(copies, 1, sums_data), ElementsAre("0ALL_REDUCE_TIED", "2B0")) << "bucket by bucket";
  EXPECT_THAT(needs(copies, 1, is_update), ElementsAre("3ALL_REDUCE", "2ALL_REDUCE"));
  EXPECT_THAT(needs(copies, 0, sums_data), ElementsAre("1B0", "0ALL_REDUCE_TIED"));
}

TEST(Ties, WhoHasBothEndsReducesAndUpdatesAfterBothBackwards) {
  Case spec = pipeline_case("chimera", 2, 2);
  const Plan plan = tied_plan(spec, 2);
  const auto of_original = [](const Op& op) { return sums_data(op) && op.segment == SegmentId(0); };
  for (const int rank : {0, 1}) EXPECT_THAT(needs(plan, rank, of_original), ElementsAre("0B0", "1B0"));
  // The next step's forward of the copy reads what the original's update wrote.
  const Plan steps = unroll(tied_plan(case_of("sequential", 1, 2), 3), 2);
  const auto last_forward = [](const Op& op) {
    return op.kind == OpKind::forward && op.segment == SegmentId(2) && op.step == StepId(1);
  };
  EXPECT_THAT(needs(steps, 0, last_forward), ElementsAre("1F0", "0-2UPDATE", "0-2UPDATE"));
}

TEST(Ties, TheSumComesBeforeShardedUpdatesToo) {
  const models::ModelSpec model = tied_chain(2);
  const Plan pipelines = add_tied_sums(sharded(tied_plan(pipeline_case("gpipe", 2, 1, 1, 2), 2)), model);
  EXPECT_THAT(tied_groups(pipelines), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(rules(unroll(pipelines, 2)), IsEmpty());
  EXPECT_THAT(needs(pipelines, 3, sums_data), ElementsAre("0ALL_REDUCE_TIED"));

  Case spec = case_of("data-parallel", 2, 4);
  spec.bucket = Bytes(1);
  const Plan replicas = unroll(sharded(tied_plan(spec, 2)), 2);
  EXPECT_THAT(rules(replicas), IsEmpty());
  const auto last_forward = [](const Op& op) {
    return op.kind == OpKind::forward && op.segment == SegmentId(1) && op.step == StepId(1);
  };
  EXPECT_THAT(needs(replicas, 1, last_forward), ElementsAre("0F0", "1ALL_GATHER", "0ALL_GATHER"))
      << "the original's segment has the weights that both read";
}

TEST(Ties, StagesThatReadDifferentVersionsAreRefused) {
  const auto refused = [](const Case& spec) { return [spec] { tied_plan(spec, 4, 6); }; };
  EXPECT_THAT(refused(case_of("pipedream", 2, 4)),
              ThrowsMessage<Error>(AllOf(HasSubstr("layer0.weight and layer3.weight are one tensor"),
                                         HasSubstr("stage 0 would read weights 1 update behind"),
                                         HasSubstr("stage 1 weights 0 updates behind"), HasSubstr("try tied=off"))));
  Case shared = case_of("pipedream", 4, 4);
  shared.strategy.parameters = {{"replicas", "3-1"}};
  EXPECT_THROW(refused(shared)(), Error);
}

TEST(Ties, StagesOfOneDelayUpdateTogether) {
  Case spec = case_of("pipedream-2bw", 2, 4);
  spec.micro = 2;
  const Plan plan = tied_plan(spec, 4, 5);
  EXPECT_THAT(tied_groups(plan), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(rules(plan), IsEmpty());
  const int lane = plan.ranks[0].find_lane(collectives_of(GroupId(0), Payload::tied_gradients));
  ASSERT_EQ(plan.ranks[0].lanes[lane].ops.size(), 5U) << "one for each update";
  EXPECT_THAT(rules(unroll(plan, 3)), IsEmpty());
}

TEST(Ties, WhatIsWrongWithThemIsFound) {
  const Plan good = unroll(tied_plan(pipeline_case("gpipe", 2, 2, 1, 2), 4), 2);
  ASSERT_THAT(rules(good), IsEmpty());
  const int group = static_cast<int>(std::ssize(good.groups)) - 1;  // of ranks 2 and 3
  const LaneKey key = collectives_of(GroupId(group), Payload::tied_gradients);

  Plan missing = good;
  for (const int rank : {2, 3}) missing.ranks[rank].lane(key).pop_back();
  EXPECT_THAT(rules(missing), Contains("exactly once"));

  Plan twice = good;
  for (const int rank : {2, 3}) twice.ranks[rank].lane(key).push_back(twice.ranks[rank].lane(key).back());
  EXPECT_THAT(rules(twice), Contains("exactly once"));

  Plan strangers = good;
  strangers.groups[group].ranks = {Rank(1), Rank(2), Rank(3)};
  EXPECT_THAT(rules(strangers), Contains("group"));

  Plan other = good;
  for (const int rank : {2, 3}) other.ranks[rank].lane(key).back().segment = SegmentId(1);
  EXPECT_THAT(rules(other), Contains("fields"));

  Plan forgotten = good;
  forgotten.tie.reset();
  EXPECT_THAT(rules(forgotten), Contains("fields"));

  Plan shared = good;
  shared.tie->shared = true;
  EXPECT_THAT(rules(shared), Contains("tie"));

  Plan late = good;
  late.versions.front().lag = 1;
  EXPECT_THAT(rules(late), Contains("version"));
}

TEST(Ties, TheTensorCountsOnceOnARankThatHasBothEnds) {
  const models::ModelSpec model = tied_chain(3);
  EXPECT_EQ(models::parameter_count(model), 2 * 16 + 3 * 4);
  const auto layout = [&](const Plan& plan, int rank) { return state_layout(plan, ParameterSizes(model), Rank(rank)); };
  // A cache line for each tensor.
  const Plan one = tied_plan(case_of("sequential", 1, 4), 3);
  EXPECT_EQ(layout(one, 0).elements, 16 * 5);
  EXPECT_EQ(layout(one, 0).slice(SegmentId(2)), (ElementRange{0, 16}));
  const std::vector<ParameterSlice> last = parameter_slices(layout(one, 0), one, model, SegmentId(2));
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].tensor.name, "layer2.bias");
  EXPECT_EQ(last[0].range, (ElementRange{0, 4}));

  // Both have it in a pipeline, and an arena of gradients to sum it in; who has neither end has none.
  const Plan three = tied_plan(pipeline_case("1f1b", 3, 4), 3);
  const auto gradients = [&](int rank) { return layout(three, rank).bytes(StateRole::gradients); };
  EXPECT_EQ(layout(three, 2).elements, 16 * 2);
  EXPECT_EQ(gradients(0), 16 * 2 * 4);
  EXPECT_EQ(gradients(1), 0);
  EXPECT_EQ(gradients(2), 16 * 2 * 4);
}

TEST(Ties, BucketsCountTheTensorOnceWhereItIsShared) {
  const models::ModelSpec model = tied_chain(3);
  const auto bytes = [&](const Plan& plan) { return gradient_bytes(plan, model); };
  EXPECT_THAT(bytes(tied_plan(case_of("data-parallel", 2, 4), 3)), ElementsAre(Bytes(80), Bytes(80), Bytes(16)));
  EXPECT_THAT(bytes(tied_plan(pipeline_case("gpipe", 3, 1, 1, 2), 3)), ElementsAre(Bytes(80), Bytes(80), Bytes(80)));
}

}  // namespace
}  // namespace parabench::plan
