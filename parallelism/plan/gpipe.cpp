#include "parallelism/plan/generators.h"
#include "parallelism/plan/gradients.h"
#include "parallelism/plan/lowering.h"

namespace parabench {

// P = 3, M = 3, backwards twice as long as forwards:
//   p0 F0 F1 F2 .  .  .  .  .  .  B0 B0 B1 B1 B2 B2
//   p1 .  F0 F1 F2 .  .  .  B0 B0 B1 B1 B2 B2
//   p2 .  .  F0 F1 F2 B0 B0 B1 B1 B2 B2
Plan gpipe_plan(const StrategyInput& input) {
  Plan plan = one_segment_per_stage(input, input.spec.micro);
  for (RankProgram& rank : plan.ranks) {
    for (MicroBatchId m; m.value < input.spec.micro; ++m) forward_stage(plan, rank, m, 0, 0);
    for (MicroBatchId m; m.value < input.spec.micro; ++m) backward_stage(plan, rank, m, 0, 0);
  }
  const auto runs = whole_stages(plan);
  return add_updates(add_messages(std::move(plan)), runs);
}

}  // namespace parabench
