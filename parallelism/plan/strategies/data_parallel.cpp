#include "parallelism/plan/strategies/data_parallel.h"

#include <algorithm>
#include <utility>

#include "base/sum_order.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/strategies/priority.h"
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

Plan data_parallel_plan(const StrategyInput& input) {
  if (sum_order(input.spec).kind == SumOrderKind::priority) return prioritised_plan(input);
  return bucketed_plan(input, add_reduced_updates);
}

namespace {

/// Copies that share their buckets among the ranks of a group, by default of all; `share` gets how many these are. A
/// group of one rank shares nothing.
Plan sharing_plan(const StrategyInput& input, const std::function<Plan(Plan, const Runs&, int)>& share) {
  const int sharers = input.spec.shard.value_or(input.spec.np);
  if (sharers == 1) return bucketed_plan(input, add_reduced_updates);
  return bucketed_plan(input, [&](Plan plan, const Runs& runs) { return share(std::move(plan), runs, sharers); });
}

}  // namespace

Plan zero1_plan(const StrategyInput& input) {
  return sharing_plan(input, [](Plan plan, const Runs& runs, int sharers) {
    return add_sharded_updates(std::move(plan), runs, runs, sharers);
  });
}

Plan dear_plan(const StrategyInput& input) {
  return bucketed_plan(input, [](Plan plan, const Runs& runs) {
    return add_sharded_updates(std::move(plan), runs, in_forward_order(runs));
  });
}

Plan zero2_plan(const StrategyInput& input) {
  return sharing_plan(input, [](Plan plan, const Runs& runs, int sharers) {
    return limit_gradients(add_sharded_updates(std::move(plan), runs, runs, sharers), gradient_buffers);
  });
}

Plan zero3_plan(const StrategyInput& input) {
  return sharing_plan(input, [&](Plan plan, const Runs& runs, int sharers) {
    plan = add_sharded_updates(std::move(plan), runs, in_forward_order(runs), sharers);
    plan = limit_gradients(std::move(plan), gradient_buffers);
    if (!input.spec.reshard) return plan;
    // The run that is computed, and those that are gathered meanwhile.
    const int ahead = std::min(input.spec.prefetch, static_cast<int>(runs.size()));
    return limit_weights(std::move(plan), 1 + ahead);
  });
}

}  // namespace parabench::plan
