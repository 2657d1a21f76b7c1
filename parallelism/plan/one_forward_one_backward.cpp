#include <algorithm>

#include "base/error.h"
#include "parallelism/plan/generators.h"
#include "parallelism/plan/gradients.h"
#include "parallelism/plan/lowering.h"

namespace parabench {
namespace {

/// Each stage s runs warmup(s) forwards, then forwards and backwards in turn, then the backwards that are left.
template <class Warmup>
Plan alternating_plan(const StrategyInput& input, Warmup warmup) {
  const int pieces = input.spec.micro;
  Plan plan = one_segment_per_stage(input, pieces);
  for (RankProgram& rank : plan.ranks) {
    const int ahead = std::min(warmup(rank.stage.value), pieces);
    for (MicroBatchId m; m.value < ahead; ++m) forward_stage(plan, rank, m, 0, 0);
    for (MicroBatchId m; m.value < pieces; ++m) {
      if (const MicroBatchId next(m.value + ahead); next.value < pieces) forward_stage(plan, rank, next, 0, 0);
      backward_stage(plan, rank, m, 0, 0);
    }
  }
  const auto runs = whole_stages(plan);
  return add_updates(add_messages(std::move(plan)), runs);
}

}  // namespace

// P = 3, M = 4, backwards twice as long as forwards; as fast as gpipe with P - s micro-batches in flight instead of M:
//   p0 F0 F1 F2 .  .  .  .  B0 B0 F3 B1 B1 .  B2 B2 .  B3 B3
//   p1 .  F0 F1 .  .  B0 B0 F2 B1 B1 F3 B2 B2 .  B3 B3
//   p2 .  .  F0 B0 B0 F1 B1 B1 F2 B2 B2 F3 B3 B3
Plan one_forward_one_backward_plan(const StrategyInput& input) {
  return alternating_plan(input, [&](int stage) { return input.spec.np - 1 - stage; });
}

// DAPPLE's policy B starts earlier, so that messages overlap with work, and holds 2 (P - s) - 1 micro-batches.
Plan dapple_plan(const StrategyInput& input) {
  const int last = input.spec.np - 1;
  const int first_warmup = input.spec.warmup.value_or(2 * last);
  if (first_warmup < last) {
    throw usage_error("warmup", std::to_string(first_warmup),
                      "at least " + std::to_string(last) + ", the forwards until the last stage starts",
                      "leave warmup out for " + std::to_string(2 * last));
  }
  return alternating_plan(input, [&](int stage) { return std::max(last - stage, first_warmup - 2 * stage); });
}

}  // namespace parabench
