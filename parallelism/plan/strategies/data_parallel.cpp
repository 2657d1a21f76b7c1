#include "parallelism/plan/strategies/data_parallel.h"

#include <utility>

#include "parallelism/plan/passes/passes.h"

namespace parabench::plan {

namespace {

/// One rank: the sequential reference.
Plan replicated_plan(const StrategyInput& input, Plan (*finish)(Plan, std::span<const SegmentRun>)) {
  const int replicas = input.spec.np;
  Plan plan = cut_model(input, {}, Grain::layer, replicas, 1);
  for (int replica = 0; replica < replicas; ++replica) {
    RankProgram& rank = plan.ranks[replica];
    rank.holds = {{StageId(0), ReplicaId(replica)}};
    for (OpKind kind : {OpKind::forward, OpKind::backward}) {
      pass_stage(plan, rank, kind, StageId(0), MicroBatchId(0), StepId(0), VersionId(0));
    }
  }
  const auto runs =
      replicas > 1 ? buckets(plan, gradient_bytes(plan, input.model), input.spec.bucket) : whole_stages(plan);
  return finish(std::move(plan), runs);
}

}  // namespace

Plan data_parallel_plan(const StrategyInput& input) { return replicated_plan(input, add_reduced_updates); }

Plan zero1_plan(const StrategyInput& input) { return replicated_plan(input, add_sharded_updates); }

}  // namespace parabench::plan
