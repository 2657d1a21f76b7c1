#include "parallelism/plan/state/state_layout.h"

#include <gtest/gtest.h>

#include "base/case_id.h"
#include "parallelism/plan/strategies/strategies.h"

namespace parabench::plan {
namespace {

/// Layers of 6, 40 and 16 parameters: two tensors each, of which none fills its last cache line.
models::ModelSpec three_layers() {
  models::ModelSpec model{.name = "three", .input = {2}, .classes = 3, .layers = {}};
  int in = 2;
  for (const int out : {2, 10, 3}) {
    const std::string name = "fc" + std::to_string(out);
    model.layers.push_back(models::chain(name, {{name, models::Linear{in, out}}}));
    in = out;
  }
  return model;
}

Plan test_plan(const std::string& rest, int steps = 1) {
  return make_plan(parse_case("resnet18/imagenet-synthetic/" + rest), three_layers(), std::vector<double>(3, 1.0),
                   steps);
}

/// 0 for a role whose arenas nobody exchanges.
std::int64_t exchanged_bytes(const Plan& plan, const models::ModelSpec& model, StateRole role) {
  return exchanged_arenas(plan, model)[role];
}

StateLayout layout_of(const Plan& plan, int rank = 0) {
  return state_layout(plan, ParameterSizes(three_layers()), Rank(rank));
}

TEST(StateLayout, SlicesLieInBackwardOrderAlignedToCacheLines) {
  const Plan plan = test_plan("sequential/np:1/batch:2");
  const StateLayout layout = layout_of(plan);
  ASSERT_EQ(layout.segments.size(), 3U);
  // In cache lines of 16 floats: 4 -> 1, 2 -> 1; 20 -> 2, 10 -> 1; 30 -> 2, 3 -> 1.
  EXPECT_EQ(layout.slice(SegmentId(2)), (ElementRange{0, 48}));
  EXPECT_EQ(layout.slice(SegmentId(1)), (ElementRange{48, 48}));
  EXPECT_EQ(layout.slice(SegmentId(0)), (ElementRange{96, 32}));
  EXPECT_EQ(layout.elements, 128);
  EXPECT_EQ(layout.run(SegmentId(0), 2), (ElementRange{48, 80}));
  EXPECT_EQ(layout.run(SegmentId(1), 2), (ElementRange{0, 96}));
  const std::vector<ParameterSlice> slices = parameter_slices(layout, plan, three_layers(), SegmentId(1));
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0].tensor.name, "fc10.weight");
  EXPECT_EQ(slices[0].range, (ElementRange{48, 20}));
  EXPECT_EQ(slices[1].range, (ElementRange{80, 10}));
}

TEST(StateLayout, ArenasAreWeightsByVersionReducedGradientsAndTheOptimizersStates) {
  const auto bytes = [](const std::string& rest, int rank = 0) {
    std::vector<std::pair<MemoryCategory, std::int64_t>> list;
    for (const StateArena& arena : layout_of(test_plan(rest, 6), rank).arenas)
      list.emplace_back(arena.category, arena.bytes);
    return list;
  };
  using enum MemoryCategory;
  using List = std::vector<std::pair<MemoryCategory, std::int64_t>>;
  EXPECT_EQ(bytes("sequential/np:1/batch:2"), (List{{parameters, 512}, {optimizer, 512}}));
  EXPECT_EQ(bytes("sequential/np:1/batch:2/momentum:0"), (List{{parameters, 512}}));
  EXPECT_EQ(bytes("data-parallel/np:2/batch:2/precision:bf16"),
            (List{{parameters, 512}, {gradients, 512}, {optimizer, 512}}));
  // Two moments, and how often each of the three segments was updated.
  EXPECT_EQ(bytes("data-parallel/np:2/batch:2/optimizer:adam"),
            (List{{parameters, 512}, {gradients, 512}, {optimizer, 512}, {optimizer, 512}, {optimizer, 12}}));
  // In cache lines of 8 doubles: 1, 1; 3, 2; 4, 1.
  EXPECT_EQ(bytes("sequential/np:1/batch:2/precision:fp64/momentum:0"), (List{{parameters, 768}}));
  // The first of three stages has two older versions of its layer.
  const List first = bytes("pipedream/np:3/batch:2/optimizer:lars", 0);
  EXPECT_EQ(first, (List{{parameters, 128}, {weight_versions, 128}, {weight_versions, 128}, {optimizer, 128}}));
}

TEST(StateLayout, ARankKeepsTheOptimizersStatesOfItsShardsAlone) {
  // Buckets of one layer each: 48, 48 and 32 floats, of which each of two ranks updates half in whole cache lines.
  const Plan plan = test_plan("zero1/np:2/batch:2/bucket:1/optimizer:adam");
  const StateLayout first = layout_of(plan, 0), second = layout_of(plan, 1);
  EXPECT_EQ(first.updated, (std::vector<ElementRange>{{0, 16}, {48, 16}, {96, 16}}));
  EXPECT_EQ(second.updated, (std::vector<ElementRange>{{16, 32}, {64, 32}, {112, 16}}));
  EXPECT_EQ(first.bytes(StateRole::optimizer), 2 * 48 * 4);
  EXPECT_EQ(second.bytes(StateRole::optimizer), 2 * 80 * 4);
  EXPECT_EQ(first.bytes(StateRole::weights), 512);
  EXPECT_EQ(first.bytes(StateRole::gradients), 512);
  EXPECT_EQ(first.bytes(StateRole::updates), 12);
  EXPECT_EQ(second.state_of(16), 0);
  EXPECT_EQ(second.state_of(70), 32 + 6);
  EXPECT_EQ(second.state_of(112), 64);
  EXPECT_TRUE(second.updates({64, 32}));
  EXPECT_FALSE(second.updates({48, 32}));
  EXPECT_EQ(layout_of(unroll(plan, 3), 1).updated, second.updated);
  // More ranks than cache lines: some update nothing of a bucket.
  EXPECT_EQ(layout_of(test_plan("zero1/np:4/batch:4/bucket:1"), 0).updated, (std::vector<ElementRange>{}));
}

TEST(StateLayout, RunsTakeBuffersByTurnsWhereThereIsNoRoomForAll) {
  // Buckets of one layer each, the last first: 48, 48 and 32 floats.
  const StateLayout second = layout_of(test_plan("zero2/np:2/batch:2/bucket:1"), 1);
  EXPECT_EQ(second.bytes(StateRole::weights), 512);
  EXPECT_EQ(second.bytes(StateRole::gradients), (48 + 48) * 4);
  EXPECT_EQ(second.bytes(StateRole::shares), 0);
  EXPECT_EQ(second.in_weights(SegmentId(0), second.slice(SegmentId(0))), (ElementRange{96, 32}));
  EXPECT_EQ(second.in_gradients(SegmentId(0), second.slice(SegmentId(0))), (ElementRange{0, 32}));
  EXPECT_EQ(second.in_gradients(SegmentId(1), second.slice(SegmentId(1))), (ElementRange{48, 48}));

  const StateLayout alone = layout_of(test_plan("zero3/np:2/batch:2/bucket:1/prefetch:0"), 1);
  EXPECT_EQ(alone.bytes(StateRole::weights), 48 * 4);
  EXPECT_EQ(alone.bytes(StateRole::shares), 80 * 4);
  EXPECT_EQ(alone.in_weights(SegmentId(1), {64, 32}), (ElementRange{16, 32}));
  EXPECT_EQ(layout_of(test_plan("zero3/np:2/batch:2/bucket:1/prefetch:5"), 1).bytes(StateRole::weights), 512);
  EXPECT_EQ(layout_of(test_plan("zero3/np:2/batch:2/bucket:1/reshard:off"), 1).bytes(StateRole::shares), 0);
}

TEST(StateLayout, WeightsThatAreGatheredAndGradientsLieWhereRanksExchangeThem) {
  const Plan plan = test_plan("zero1/np:2/batch:2/optimizer:lars");
  for (const StateArena& arena : layout_of(plan).arenas)
    EXPECT_EQ(arena.exchanged, arena.role == StateRole::weights || arena.role == StateRole::gradients);
  EXPECT_EQ(exchanged_bytes(plan, three_layers(), StateRole::weights), 512);
  EXPECT_EQ(exchanged_bytes(plan, three_layers(), StateRole::gradients), 512);
  EXPECT_EQ(exchanged_bytes(test_plan("data-parallel/np:2/batch:2"), three_layers(), StateRole::weights), 0);
  // Two sums in fp64 for each of six tensors.
  EXPECT_EQ(layout_of(plan).bytes(StateRole::norms), 6 * 16);
}

TEST(StateLayout, EveryRankAsksForTheLargestArenaOfGradients) {
  EXPECT_EQ(exchanged_bytes(test_plan("data-parallel/np:2/batch:2"), three_layers(), StateRole::gradients), 512);
  EXPECT_EQ(exchanged_bytes(test_plan("local-sgd/np:2/batch:2"), three_layers(), StateRole::gradients), 0);
  EXPECT_EQ(exchanged_bytes(test_plan("local-sgd/np:2/batch:2"), three_layers(), StateRole::weights), 512);
  EXPECT_EQ(exchanged_bytes(test_plan("gpipe/np:2/batch:4/micro:2"), three_layers(), StateRole::gradients), 0);
  const Plan copies = test_plan("gpipe/np:6/batch:4/micro:2/dp:2");
  EXPECT_EQ(exchanged_bytes(copies, three_layers(), StateRole::gradients),
            192);  // of the second and third layer, 48 floats
  EXPECT_EQ(layout_of(copies, 0).bytes(StateRole::gradients), 128);
}

TEST(StateLayout, ShardsAreWholeCacheLinesThatMakeUpTheRange) {
  for (const int element : {4, 8}) {
    const std::int64_t unit = slice_alignment_bytes / element;
    for (const std::int64_t units : {0, 1, 2, 5, 7, 64}) {
      for (const int shards : {1, 2, 3, 8}) {
        const ElementRange whole{3 * unit, units * unit};
        std::int64_t next = whole.first;
        for (int i = 0; i < shards; ++i) {
          const ElementRange shard = shard_of(whole, i, shards, element);
          EXPECT_EQ(shard.first, next);
          EXPECT_EQ(shard.count % unit, 0);
          EXPECT_LE(std::abs(shard.count * shards - whole.count), shards * unit);  // even
          next = shard.end();
        }
        EXPECT_EQ(next, whole.end());
      }
    }
  }
}

}  // namespace
}  // namespace parabench::plan
