#include "parallelism/plan/generators.h"
#include "parallelism/plan/gradients.h"

namespace parabench {

Plan sequential_plan(const StrategyInput& input) {
  Plan plan = one_segment_per_layer(input, 1);
  forward_stage(plan, plan.ranks.front(), MicroBatchId(0), 0, 0);
  backward_stage(plan, plan.ranks.front(), MicroBatchId(0), 0, 0);
  return add_updates(plan, whole_stages(plan));
}

}  // namespace parabench
