// A plan that no strategy writes: one block of a transformer on two ranks of a tensor axis, as Megatron-LM splits it
// (Shoeybi et al. 2019). Plan, validator, simulator and sizes take its shards and its sums of activations as they are.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "analytic/memory/sizes.h"
#include "analytic/simulate/simulate.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/validate.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

using testing::Contains;
using testing::IsEmpty;

constexpr int samples = 4, sequence = 3, hidden = 8;
/// Layer norm; attention; residual sum and layer norm; multi-layer perceptron; residual sum. Both ranks compute the
/// first, third and last alike, and half of the columns and rows of the others' two products.
constexpr int parts = 5;
constexpr int attention = 1, perceptron = 3;

bool is_split(int segment) { return segment == attention || segment == perceptron; }

/// A token-wise product with hidden x hidden weights stands for each part: only shapes matter here.
models::ModelSpec block() {
  models::ModelSpec model{.name = "block", .input = {sequence, hidden}, .classes = hidden, .layers = {}};
  for (int i = 0; i < parts; ++i) {
    const std::string name = std::string("part") + static_cast<char>('0' + i);
    model.layers.push_back(models::chain(name, {{name, models::Linear{.in = hidden, .out = hidden}}}));
  }
  return model;
}

/// g: what the ranks make of a split part is summed on the way forward. f, its conjugate: the gradients of its input
/// are summed on the way back.
plan::Plan megatron(int micro_batches = 1) {
  plan::Plan plan;
  plan.spec = case_of("data-parallel", 2, samples * micro_batches);
  const plan::Mesh mesh{.tensor = 2};
  plan::require_ranks(mesh, plan.spec.np);
  for (int i = 0; i < parts; ++i) plan.segments.push_back({i, 1, StageId(0)});
  plan.shards = mesh.tensor;
  plan.groups = {{plan::Axis::tensor, {Rank(0), Rank(1)}}};
  plan.versions.resize(1);
  plan.pieces = {std::vector<int>(micro_batches, samples)};
  plan.ranks.resize(mesh.size());
  const GroupId both(0);
  for (int r = 0; r < mesh.size(); ++r) {
    plan::RankProgram& rank = plan.ranks[r];
    rank.holds = {{StageId(0), ReplicaId(0), r}};
    for (MicroBatchId m; m.value < micro_batches; ++m) {
      for (int s = 0; s < parts; ++s) {
        rank.compute().push_back(plan::forward(SegmentId(s), m, StepId(0), VersionId(0)));
        const plan::Op g = plan::all_reduce_forward(SegmentId(s), m, StepId(0), both);
        if (is_split(s)) rank.lane(plan::lane_of(g)).push_back(g);
      }
      for (int s = parts - 1; s >= 0; --s) {
        rank.compute().push_back(plan::backward(SegmentId(s), m, StepId(0), VersionId(0)));
        const plan::Op f = plan::all_reduce_backward(SegmentId(s), m, StepId(0), both);
        if (is_split(s)) rank.lane(plan::lane_of(f)).push_back(f);
      }
    }
    rank.compute().push_back(plan::update(SegmentId(0), parts, StepId(0), VersionId(1)));
  }
  return plan::mark_accumulation(plan);
}

std::vector<std::string> rules(const plan::Plan& plan) {
  std::vector<std::string> result;
  for (const plan::Violation& v : plan::validate(plan)) result.push_back(v.rule);
  return result;
}

TEST(TensorParallel, ABlockIsAGoodPlan) {
  for (int m : {1, 3}) {
    const plan::Plan plan = megatron(m);
    EXPECT_THAT(rules(plan), IsEmpty());
    EXPECT_EQ(plan::plan_from_json(plan::to_json(plan)), plan);
    EXPECT_THAT(rules(plan::unroll(plan, 4)), IsEmpty());
  }
}

TEST(TensorParallel, SumsTwoActivationsAndTwoGradientsOfABlock) {
  const plan::Plan plan = megatron();
  const Sizes sizes(block());
  for (Rank r; r.value < 2; ++r) {
    std::map<plan::Payload, int> count;
    for (const plan::Lane& lane : plan.ranks[r.value].lanes) {
      for (const plan::Op& op : lane.ops) {
        if (lane.key.kind != plan::LaneKind::collectives) continue;
        ++count[op.payload];
        EXPECT_EQ(sizes.payload_bytes(plan, r, op), samples * sequence * hidden * 4);
      }
    }
    EXPECT_EQ(count,
              (std::map<plan::Payload, int>{{plan::Payload::activation, 2}, {plan::Payload::activation_gradient, 2}}));
  }
}

// F 1 B 2 U 3 and 10 for each sum, none of which anything can hide: every part needs the one before.
TEST(TensorParallel, ASumStandsBetweenASplitPartAndItsNeighbour) {
  const plan::Plan plan = megatron();
  const HandCosts costs([](Rank, const plan::Op& op, int) {
    if (plan::is_collective(op.kind)) return 10.0;
    return op.kind == plan::OpKind::forward ? 1.0 : op.kind == plan::OpKind::backward ? 2.0 : 3.0;
  });
  const plan::Timeline timeline = simulate(plan, costs);
  EXPECT_DOUBLE_EQ(plan::makespan(timeline), 5 * 1 + 5 * 2 + 3 + 4 * 10);
  const auto& compute = timeline.ranks[1][plan::compute_lane];
  EXPECT_DOUBLE_EQ(compute[attention].end, 2);
  EXPECT_DOUBLE_EQ(compute[attention + 1].start, 12);
  const Breakdown breakdown = plan::breakdown(plan, timeline, Rank(1), StepId(0));
  EXPECT_DOUBLE_EQ(breakdown.communication_exposed, 40);
  EXPECT_DOUBLE_EQ(breakdown.bubble, 0);
}

TEST(TensorParallel, RefusesSumsThatAMemberLeavesOut) {
  plan::Plan plan = megatron(2);
  plan.ranks[1].lane(plan::collectives_of(GroupId(0), plan::Payload::activation)).pop_back();
  EXPECT_THAT(rules(plan), Contains("pairing"));
  plan.ranks[0].lane(plan::collectives_of(GroupId(0), plan::Payload::activation)).pop_back();
  EXPECT_THAT(rules(plan), Contains("exactly once"));
}

TEST(TensorParallel, RefusesSumsOfOthersThanTheShardsOfAStage) {
  plan::Plan plan = megatron();
  plan.groups = {{plan::Axis::tensor, {Rank(0)}}};
  EXPECT_THAT(rules(plan), Contains("fields"));
  plan = megatron();
  for (plan::RankProgram& rank : plan.ranks) rank.holds[0].shard = 0;
  EXPECT_THAT(rules(plan), Contains("placement"));
}

TEST(TensorParallel, RefusesMembersThatSumInAnotherOrder) {
  plan::Plan plan = megatron();
  auto& sums = plan.ranks[1].lane(plan::collectives_of(GroupId(0), plan::Payload::activation));
  std::swap(sums[0], sums[1]);
  EXPECT_THAT(rules(plan), Contains("pairing"));
}

}  // namespace
}  // namespace parabench::analytic
