#include "parallelism/plan/generators.h"
#include "parallelism/plan/gradients.h"

namespace parabench {

Plan data_parallel_plan(const StrategyInput& input) {
  Plan plan = one_segment_per_layer(input, input.spec.np);
  for (RankProgram& rank : plan.ranks) {
    forward_stage(plan, rank, MicroBatchId(0), 0, 0);
    backward_stage(plan, rank, MicroBatchId(0), 0, 0);
  }
  // Parameters and their gradients stay in fp32 under tf32 and bf16.
  const std::int64_t element = input.spec.precision == Precision::fp64 ? 8 : 4;
  std::vector<Bytes> gradient_bytes;
  for (const LayerSpec& layer : input.model.layers) gradient_bytes.emplace_back(parameter_count(layer) * element);
  const auto runs = buckets(plan, gradient_bytes, input.spec.bucket);
  if (plan.replicas > 1) plan = add_reductions(std::move(plan), runs);
  return add_updates(std::move(plan), runs);
}

}  // namespace parabench
