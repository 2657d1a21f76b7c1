// What tensors that skip layers hold.
#include <gtest/gtest.h>

#include <algorithm>

#include "analytic/memory/allocations.h"
#include "analytic/memory/peak_memory.h"
#include "analytic/memory/sizes.h"
#include "analytic/simulate/simulate.h"
#include "models/spec/cost.h"
#include "parallelism/plan/dependencies.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

constexpr std::int64_t map_bytes = 64;  ///< of a chain's map of one sample: 4x2x2

/// A chain of four layers; the output of the first is added to the input of the last.
models::ModelSpec skipping_chain() {
  models::ModelSpec model = chain(4);
  model.layers[0].makes = {{"skip", 1}};
  models::LayerSpec& last = model.layers[3];
  last.takes = {{"skip", {4, 2, 2}}};
  last.nodes.insert(last.nodes.begin(), {"add", models::Add{}, {models::layer_input, models::taken_value(0)}});
  last.nodes[1].inputs = {0};
  last.nodes[2].inputs = {1};
  return model;
}

plan::Plan plan_on(const models::ModelSpec& model, const std::string& strategy, int ranks,
                   Recompute recompute = Recompute::none) {
  Case spec = strategy == "gpipe" ? case_of(strategy, ranks, 1, 1) : case_of(strategy, ranks, 1);
  spec.recompute = recompute;
  spec.bucket = Bytes(1);
  return plan::make_plan(spec, model, std::vector<double>(4, 1.0), 1);
}

MemoryUsage peak_on(const models::ModelSpec& model, const plan::Plan& plan, int rank, const HandCosts& costs) {
  return peak_memory(plan, model, costs, simulate(plan, costs), Rank(rank));
}

HandCosts backwards_of(std::int64_t bytes) {
  HandCosts costs(KindSeconds{});
  costs.backward_peak = bytes;
  return costs;
}

TEST(SkipMemory, AMessageCarriesTheTensorThatSkips) {
  models::ModelSpec model = skipping_chain();
  model.layers[0].makes = {{"skip", models::layer_input}};
  model.input = {4, 2, 2};
  const plan::Plan plan = plan_on(model, "gpipe", 4);
  const Sizes sizes(model);
  int skips = 0;
  for (Rank rank; rank.value < std::ssize(plan.ranks); ++rank) {
    for (const plan::Lane& lane : plan.ranks[rank.value].lanes) {
      for (const plan::Op& op : lane.ops) skips += op.port > 0 && sizes.payload_bytes(plan, rank, op) == map_bytes;
    }
  }
  EXPECT_EQ(skips, 4);  // both ends, there and back
}

TEST(SkipMemory, AReceivedSkipIsHeldToTheBackwardOfItsTaker) {
  const HandCosts costs = backwards_of(1000);
  const auto activations = [&](const models::ModelSpec& model, int rank) {
    return peak_on(model, plan_on(model, "gpipe", 4), rank, costs)[MemoryCategory::activations];
  };
  EXPECT_EQ(activations(skipping_chain(), 3) - activations(chain(4), 3), map_bytes);
  EXPECT_EQ(activations(skipping_chain(), 2), activations(chain(4), 2)) << "passes by the ranks between";
}

TEST(SkipMemory, AReceivedGradientOfASkipWaitsForTheBackwardOfItsMaker) {
  const HandCosts costs = backwards_of(1000);
  const auto communication = [&](const models::ModelSpec& model) {
    return peak_on(model, plan_on(model, "gpipe", 4), 0, costs)[MemoryCategory::communication];
  };
  EXPECT_EQ(communication(skipping_chain()) - communication(chain(4)), map_bytes);
}

// The peak is inside the last backward, of the first layer, which waits for the gradient.
TEST(SkipMemory, WithinARankTheGradientWaitsFromSegmentToSegment) {
  const HandCosts costs = backwards_of(1000);
  const auto workspace = [&](const models::ModelSpec& model) {
    return peak_on(model, plan_on(model, "data-parallel", 1), 0, costs)[MemoryCategory::workspace];
  };
  EXPECT_EQ(workspace(skipping_chain()) - workspace(chain(4)), map_bytes);
}

TEST(SkipMemory, OfAForwardWithoutAGraphTheSkipStaysToTheBackwardOfItsTaker) {
  models::ModelSpec model = skipping_chain();
  const HandCosts costs(KindSeconds{});
  const auto held_so_long = [&] {
    const plan::Plan plan = plan_on(model, "data-parallel", 1, Recompute::all);
    const plan::Timeline timeline = simulate(plan, costs);
    const auto& compute = timeline.ranks[0][plan::compute_lane];
    const double made = compute[0].end, taken = compute[5].end;  // F0 F1 F2 F3 RECOMPUTE3 B3
    return std::ranges::count_if(allocations(plan, Sizes(model), costs, timeline, Rank(0)), [&](const Allocation& a) {
      return a.category == MemoryCategory::activations && a.from == made && a.until == taken && a.bytes == map_bytes;
    });
  };
  EXPECT_EQ(held_so_long(), 0) << "the output is held anyway, longer";
  model.layers[0].makes = {{"skip", 0}};
  EXPECT_EQ(held_so_long(), 1);
}

TEST(SkipMemory, InTheMidstOfABackwardTheGradientWaits) {
  const models::ModelSpec model = skipping_chain(), plain = chain(4);
  const plan::Plan plan = plan_on(model, "gpipe", 1);
  ASSERT_EQ(plan.segments.size(), 1u);
  plan::Op back = plan::backward(SegmentId(0), MicroBatchId(0), StepId(0), VersionId(0));
  EXPECT_EQ(Sizes(model).temporary_bytes(plan, Rank(0), back) - Sizes(plain).temporary_bytes(plan, Rank(0), back),
            map_bytes);
  EXPECT_EQ(Sizes(model).waiting_skip_bytes(plan, Rank(0), back, 3), 0);
}

// A convolution of what the layer takes keeps it; it lies where it was made.
TEST(SkipMemory, WhatIsTakenIsSavedByItsMaker) {
  models::ModelSpec model = skipping_chain();
  model.layers[3].nodes[0] = {"conv2", models::Conv2d{.in = 4, .out = 4}, {models::taken_value(0)}};
  const models::LayerCost alone = models::cost(model.layers[3], {4, 2, 2}, 4);
  EXPECT_EQ(alone.saved_taken_per_sample, Bytes(map_bytes));
  EXPECT_EQ(models::cost(model.layers, {4, 2, 2}, 4).saved_taken_per_sample, Bytes(0));
}

}  // namespace
}  // namespace parabench::analytic
