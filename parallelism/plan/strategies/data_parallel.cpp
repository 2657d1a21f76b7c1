#include "parallelism/plan/strategies/data_parallel.h"

#include <algorithm>
#include <utility>

#include "parallelism/plan/passes/passes.h"

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
  if (replicas > 1) return share(std::move(plan));
  const std::vector<SegmentRun> whole = whole_stages(plan);
  return add_updates(std::move(plan), whole);
}

namespace {

std::vector<SegmentRun> buckets_of(const Plan& plan, const StrategyInput& input) {
  return buckets(plan, gradient_bytes(plan, input.model), input.spec.bucket);
}

}  // namespace

Plan data_parallel_plan(const StrategyInput& input) {
  return replicated_plan(input, [&](Plan plan) {
    const auto runs = buckets_of(plan, input);
    return add_reduced_updates(std::move(plan), runs);
  });
}

Plan zero1_plan(const StrategyInput& input) {
  return replicated_plan(input, [&](Plan plan) {
    const auto runs = buckets_of(plan, input);
    return add_sharded_updates(std::move(plan), runs, runs);
  });
}

Plan dear_plan(const StrategyInput& input) {
  return replicated_plan(input, [&](Plan plan) {
    const auto runs = buckets_of(plan, input);
    auto read = runs;
    std::ranges::reverse(read);
    return add_sharded_updates(std::move(plan), runs, read);
  });
}

}  // namespace parabench::plan
