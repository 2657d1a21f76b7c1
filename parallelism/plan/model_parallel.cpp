#include "parallelism/plan/generators.h"
#include "parallelism/plan/gradients.h"
#include "parallelism/plan/lowering.h"

namespace parabench {

Plan model_parallel_plan(const StrategyInput& input) {
  Plan plan = one_segment_per_stage(input, 1);
  for (RankProgram& rank : plan.ranks) {
    forward_stage(plan, rank, MicroBatchId(0), 0, 0);
    backward_stage(plan, rank, MicroBatchId(0), 0, 0);
  }
  const auto runs = whole_stages(plan);
  return add_updates(add_messages(std::move(plan)), runs);
}

}  // namespace parabench
