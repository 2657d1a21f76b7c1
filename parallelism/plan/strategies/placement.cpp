#include "parallelism/plan/strategies/placement.h"

#include <iterator>
#include <string>

#include "base/case_text.h"
#include "base/error.h"
#include "parallelism/plan/passes/statistics.h"
#include "parallelism/plan/skip_ports.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "parallelism/plan/ties.h"

namespace parabench::plan {
namespace {

void require_profile(const StrategyInput& input, std::string_view what, std::size_t known) {
  const std::size_t layers = input.model.layers.size();
  if (known == layers) return;
  throw usage_error(
      "partition", to_text(input.spec.partition),
      std::string(what) + " for each of the " + std::to_string(layers) + " layers, not " + std::to_string(known),
      "try partition:parameters or partition:uniform");
}

}  // namespace

std::vector<LayerBytes> layer_bytes(const StrategyInput& input, int weight_versions) {
  require_profile(input, "bytes", input.profile.sizes.size());
  std::vector<LayerBytes> bytes;
  for (const LayerSizes& layer : input.profile.sizes) {
    bytes.push_back({.fixed = layer.states + weight_versions * layer.weights,
                     .in_flight = layer.saved + (weight_versions == 0 ? layer.weights : 0),
                     .entry = layer.input,
                     .passing = layer.passing});
  }
  return bytes;
}

namespace {

std::vector<int> cut_in_memory(const StrategyInput& input, const Stages& stages, std::span<const double> seconds) {
  const std::vector<LayerBytes> layers = layer_bytes(input, stages.weight_versions);
  return memory_limited_partition(seconds, stages.widths,
                                  {.layers = layers, .in_flight = stages.in_flight, .bytes = input.spec.memory->value});
}

std::vector<int> layers_per_stage(const StrategyInput& input, const Stages& stages, int micro_batches) {
  const auto& layers = input.model.layers;
  const int count = static_cast<int>(layers.size());
  if (!stages.layers.empty()) return stages.layers;
  if (stages.count == 1 && input.spec.partition != PartitionRule::memory) return {count};
  const std::vector<double> seconds = input.profile.seconds_per_piece(micro_batches);
  switch (input.spec.partition) {
    case PartitionRule::time:
      require_profile(input, "a time", seconds.size());
      return stages.widths.empty() ? min_max_partition(seconds, stages.count)
                                   : shared_partition(seconds, stages.widths);
    case PartitionRule::parameters: {
      std::vector<double> counts;
      for (const models::LayerSpec& layer : layers)
        counts.push_back(static_cast<double>(models::parameter_count(layer)));
      return min_max_partition(counts, stages.count);
    }
    case PartitionRule::uniform: return uniform_partition(count, stages.count);
    case PartitionRule::memory:
      require_profile(input, "a time", seconds.size());
      return cut_in_memory(input, stages, seconds);
  }
  return {};
}

}  // namespace

Plan cut_model(const StrategyInput& input, const Stages& stages, Grain grain, int replicas, int micro_batches) {
  Plan plan;
  plan.spec = input.spec;
  plan.stages = stages.count;
  plan.replicas = replicas;
  plan.versions = delay_rules(input.spec, stages.widths.empty() ? std::vector<int>(stages.count, 1) : stages.widths);
  plan.ranks.resize(input.spec.np);
  const std::vector<int> sizes = split_evenly(input.spec.batch, replicas * micro_batches);
  for (int replica = 0; replica < replicas; ++replica) {
    const auto first = sizes.begin() + replica * micro_batches;
    plan.pieces.emplace_back(first, first + micro_batches);
  }
  int first_layer = 0;
  StageId stage;
  for (int layers : layers_per_stage(input, stages, micro_batches)) {
    const int each = grain == Grain::layer ? 1 : layers;
    for (int l = 0; l < layers; l += each) plan.segments.push_back({first_layer + l, each, stage});
    first_layer += layers;
    ++stage;
  }
  plan.skips = skip_ports(plan.segments, input.model);
  plan.statistics = statistics_segments(plan.segments, input.model);
  return plan;
}

std::vector<Segment> single_layers(const models::ModelSpec& model) {
  std::vector<Segment> layers;
  for (int l = 0; l < std::ssize(model.layers); ++l) layers.push_back({.first_layer = l, .layers = 1});
  return layers;
}

std::vector<Bytes> gradient_bytes(const Plan& plan, const models::ModelSpec& model) {
  // Parameters and their gradients stay in fp32 under tf32 and bf16.
  const std::int64_t element = plan.spec.precision == Precision::fp64 ? 8 : 4;
  std::vector<Bytes> bytes;
  for (const Segment& segment : plan.segments) {
    std::int64_t sum = 0;
    for (int l = 0; l < segment.layers; ++l)
      sum += models::parameter_count(model.layers[segment.first_layer + l]) * element;
    bytes.emplace_back(sum);
  }
  if (const auto tie = tied_segments(plan, model); tie && tie->shared)
    bytes[tie->copy.value] -= Bytes(models::tied_tensor(model).elements() * element);
  return bytes;
}

void pass_stage(const Plan& plan, RankProgram& rank, OpKind kind, StageId stage, MicroBatchId m, StepId step,
                VersionId version) {
  const auto [first, last] = segments_of(plan, stage);
  const int segments = last.value - first.value + 1;
  for (int i = 0; i < segments; ++i) {
    const SegmentId s(kind == OpKind::forward ? first.value + i : last.value - i);
    rank.compute().push_back(pass(kind, s, m, step, version));
  }
}

}  // namespace parabench::plan
