#include "parallelism/plan/placement.h"

#include "base/error.h"
#include "parallelism/plan/partition.h"

namespace parabench {
namespace {

std::vector<int> layers_per_stage(const StrategyInput& input, int stages) {
  const auto& layers = input.model.layers;
  if (stages == 1) return {static_cast<int>(layers.size())};
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

Plan cut_model(const StrategyInput& input, int stages, Grain grain, int replicas, int micro_batches) {
  Plan plan;
  plan.spec = input.spec;
  plan.stages = stages;
  plan.replicas = replicas;
  plan.versions.resize(stages);
  plan.ranks.resize(input.spec.np);
  const std::vector<int> sizes = split_evenly(input.spec.batch, replicas * micro_batches);
  for (int replica = 0; replica < replicas; ++replica) {
    const auto first = sizes.begin() + replica * micro_batches;
    plan.pieces.emplace_back(first, first + micro_batches);
  }
  int first_layer = 0;
  StageId stage;
  for (int layers : layers_per_stage(input, stages)) {
    const int each = grain == Grain::layer ? 1 : layers;
    for (int l = 0; l < layers; l += each) plan.segments.push_back({first_layer + l, each, stage});
    first_layer += layers;
    ++stage;
  }
  return plan;
}

std::vector<Bytes> gradient_bytes(const Plan& plan, const ModelSpec& model) {
  // Parameters and their gradients stay in fp32 under tf32 and bf16.
  const std::int64_t element = plan.spec.precision == Precision::fp64 ? 8 : 4;
  std::vector<Bytes> bytes;
  for (const Segment& segment : plan.segments) {
    std::int64_t sum = 0;
    for (int l = 0; l < segment.layers; ++l) sum += parameter_count(model.layers[segment.first_layer + l]) * element;
    bytes.emplace_back(sum);
  }
  return bytes;
}

void pass_stage(const Plan& plan, RankProgram& rank, OpKind kind, StageId stage, MicroBatchId m, int step,
                int version) {
  const auto [first, last] = segments_of(plan, stage);
  const int segments = last.value - first.value + 1;
  for (int i = 0; i < segments; ++i) {
    const SegmentId s(kind == OpKind::forward ? first.value + i : last.value - i);
    rank.compute().push_back(pass(kind, s, m, step, version));
  }
}

}  // namespace parabench
