#include "parallelism/plan/placement.h"

#include "base/error.h"
#include "parallelism/plan/partition.h"

namespace parabench {
namespace {

std::vector<int> layers_per_stage(const StrategyInput& input) {
  const int stages = input.spec.np;
  const auto& layers = input.model.layers;
  switch (input.spec.partition) {
    case PartitionRule::time:
      if (input.layer_seconds.size() != layers.size()) {
        throw usage_error("partition", "time",
                          "a time for each of the " + std::to_string(layers.size()) + " layers, not " +
                              std::to_string(input.layer_seconds.size()),
                          "try partition:parameters or partition:uniform");
      }
      return min_max_partition(input.layer_seconds, stages);
    case PartitionRule::parameters: {
      std::vector<double> counts;
      for (const LayerSpec& layer : layers) counts.push_back(static_cast<double>(parameter_count(layer)));
      return min_max_partition(counts, stages);
    }
    case PartitionRule::uniform: return uniform_partition(static_cast<int>(layers.size()), stages);
  }
  return {};
}

}  // namespace

Plan one_segment_per_layer(const StrategyInput& input, int replicas) {
  Plan plan;
  plan.spec = input.spec;
  plan.replicas = replicas;
  for (int layer = 0; layer < static_cast<int>(input.model.layers.size()); ++layer) {
    plan.segments.push_back({.first_layer = layer, .layers = 1, .stage = StageId(0)});
  }
  for (int samples : split_evenly(input.spec.batch, replicas)) plan.pieces.push_back({samples});
  for (int replica = 0; replica < replicas; ++replica) plan.ranks.emplace_back().replica = replica;
  return plan;
}

Plan one_segment_per_stage(const StrategyInput& input, int micro_batches) {
  Plan plan;
  plan.spec = input.spec;
  plan.stages = input.spec.np;
  plan.pieces = {split_evenly(input.spec.batch, micro_batches)};
  int first_layer = 0;
  for (int layers : layers_per_stage(input)) {
    const StageId stage(static_cast<int>(plan.segments.size()));
    plan.segments.push_back({first_layer, layers, stage});
    plan.ranks.emplace_back().stage = stage;
    first_layer += layers;
  }
  return plan;
}

void forward_stage(const Plan& plan, RankProgram& rank, MicroBatchId m, int step, int version) {
  const SegmentRange range = segments_of(plan, rank.stage);
  for (SegmentId s = range.first; s <= range.last; ++s) {
    rank.lane(Lane::compute).push_back(forward(s, m, step, version));
  }
}

void backward_stage(const Plan& plan, RankProgram& rank, MicroBatchId m, int step, int version) {
  const SegmentRange range = segments_of(plan, rank.stage);
  for (SegmentId s = range.last; s >= range.first; s = SegmentId(s.value - 1)) {
    rank.lane(Lane::compute).push_back(backward(s, m, step, version));
  }
}

}  // namespace parabench
