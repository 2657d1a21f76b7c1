#include <algorithm>

#include "parallelism/plan/generators.h"
#include "parallelism/plan/lowering.h"

namespace parabench {

// P = 3, backwards twice as long as forwards; every backward is followed by its update:
//   p0 F0 F1 F2 .  .  .  .  B0 B0 F3 B1 B1 F4 B2 B2 F5 ...
//   p1 .  F0 F1 .  .  B0 B0 F2 B1 B1 F3 B2 B2 F4 B3 B3 ...
//   p2 .  .  F0 B0 B0 F1 B1 B1 F2 B2 B2 F3 B3 B3 F4 B4 ...
// With P - s mini-batches in flight on stage s, the n-th (from 1) starts just after update n - (P - s), and both of its
// passes read that version (weight stashing).
Plan pipedream_plan(const StrategyInput& input) {
  Plan plan = one_segment_per_stage(input, 1);
  plan.asynchronous = true;
  plan.steps = input.steps;
  const MicroBatchId whole(0);
  for (RankProgram& rank : plan.ranks) {
    const int in_flight = plan.stages - rank.stage.value;
    const int warmup = std::min(in_flight - 1, input.steps);
    const SegmentId segment = segments_of(plan, rank.stage).first;
    rank.weight_versions = std::min(in_flight, input.steps);
    auto version = [&](int step) { return std::max(0, step + 1 - in_flight); };
    auto run_forward = [&](int step) { forward_stage(plan, rank, whole, step, version(step)); };
    auto run_backward = [&](int step) {
      backward_stage(plan, rank, whole, step, version(step));
      rank.lane(Lane::compute).push_back(update(segment, 1, step, step + 1));
    };
    for (int step = 0; step < warmup; ++step) run_forward(step);
    for (int step = warmup; step < input.steps; ++step) {
      run_forward(step);
      run_backward(step - warmup);
    }
    for (int step = input.steps - warmup; step < input.steps; ++step) run_backward(step);
  }
  return add_messages(std::move(plan));
}

}  // namespace parabench
