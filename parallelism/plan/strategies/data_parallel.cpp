#include "parallelism/plan/strategies/data_parallel.h"

#include <algorithm>
#include <utility>

#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/ties.h"

namespace parabench::plan {

Plan replicated_plan(const StrategyInput& input, const std::function<Plan(Plan)>& share) {
  const int replicas = input.spec.np;
  Plan plan = cut_model(input, {}, Grain::layer, replicas, 1);
  for (int replica = 0; replica < replicas; ++replica) {
    RankProgram& rank = plan.ranks[replica];
    rank.holds = {{StageId(0), ReplicaId(replica)}};
    for (OpKind kind : {OpKind::forward, OpKind::backward}) {
      pass_stage(plan, rank, kind, StageId(0), MicroBatchId(0), StepId(0), VersionId(0));
    }
  }
  plan.tie = tied_segments(plan, input.model);
  if (replicas > 1) return share(std::move(plan));
  const std::vector<SegmentRun> whole = whole_stages(plan);
  return add_updates(std::move(plan), whole);
}

namespace {

/// The gradients that are reduced, and those that the backward makes meanwhile.
constexpr int gradient_buffers = 2;

std::vector<SegmentRun> in_forward_order(std::vector<SegmentRun> runs) {
  std::ranges::reverse(runs);
  return runs;
}

using Runs = std::vector<SegmentRun>;

}  // namespace

Plan bucketed_plan(const StrategyInput& input, const std::function<Plan(Plan, const Runs&)>& share) {
  return replicated_plan(input, [&](Plan plan) {
    const Runs runs = buckets(plan, gradient_bytes(plan, input.model), input.spec.bucket);
    return share(std::move(plan), runs);
  });
}

Plan data_parallel_plan(const StrategyInput& input) { return bucketed_plan(input, add_reduced_updates); }

Plan zero1_plan(const StrategyInput& input) {
  return bucketed_plan(input,
                       [](Plan plan, const Runs& runs) { return add_sharded_updates(std::move(plan), runs, runs); });
}

Plan dear_plan(const StrategyInput& input) {
  return bucketed_plan(input, [](Plan plan, const Runs& runs) {
    return add_sharded_updates(std::move(plan), runs, in_forward_order(runs));
  });
}

Plan zero2_plan(const StrategyInput& input) {
  return bucketed_plan(input, [](Plan plan, const Runs& runs) {
    return limit_gradients(add_sharded_updates(std::move(plan), runs, runs), gradient_buffers);
  });
}

Plan zero3_plan(const StrategyInput& input) {
  return bucketed_plan(input, [&](Plan plan, const Runs& runs) {
    plan = limit_gradients(add_sharded_updates(std::move(plan), runs, in_forward_order(runs)), gradient_buffers);
    if (!input.spec.reshard) return plan;
    // The run that is computed, and those that are gathered meanwhile.
    const int ahead = std::min(input.spec.prefetch, static_cast<int>(runs.size()));
    return limit_weights(std::move(plan), 1 + ahead);
  });
}

}  // namespace parabench::plan
