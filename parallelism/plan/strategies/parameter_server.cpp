#include "parallelism/plan/strategies/parameter_server.h"

#include <utility>
#include <vector>

#include "parallelism/plan/partition/partition.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/strategies/parameters.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "parallelism/plan/ties.h"

namespace parabench::plan {
namespace {

std::vector<int> key_ranges(const models::ModelSpec& model, int servers) {
  std::vector<double> parameters;
  for (const models::LayerSpec& layer : model.layers)
    parameters.push_back(static_cast<double>(models::parameter_count(layer)));
  return min_max_partition(parameters, servers);
}

/// What a step exchanges of one bucket.
void serve(Plan& plan, const SegmentRun& run, int workers) {
  const Rank server = plan.servers[stage_of(plan, run.first).value];
  RankProgram& serving = plan.ranks[server.value];
  const auto [first, segments] = run;
  for (Rank worker; worker.value < workers; ++worker) {
    RankProgram& rank = plan.ranks[worker.value];
    const Op push = send_gradients(first, segments, StepId(0), server);
    const Op pull = recv_parameters(first, segments, StepId(0), VersionId(1), server);
    rank.lane(lane_of(push)).push_back(push);
    rank.lane(lane_of(pull)).push_back(pull);
    const Op pushed = recv_gradients(first, segments, StepId(0), worker);
    const Op pulled = send_parameters(first, segments, StepId(0), VersionId(1), worker);
    serving.lane(lane_of(pushed)).push_back(pushed);
    serving.compute().push_back(add_gradients(first, segments, StepId(0), worker));
    serving.lane(lane_of(pulled)).push_back(pulled);
  }
  serving.compute().push_back(update(first, segments, StepId(0), VersionId(1)));
}

}  // namespace

int servers(const Case& spec) {
  if (!find_strategy(spec.strategy.name).find_parameter("servers")) return 0;
  return parameter_number(spec, "servers");
}

Plan parameter_server_plan(const StrategyInput& input) {
  const int serving = servers(input.spec), workers = input.spec.np - serving;
  Plan plan =
      cut_model(input, {.count = serving, .layers = key_ranges(input.model, serving)}, Grain::layer, workers, 1);
  for (StageId stage; stage.value < serving; ++stage) {
    plan.servers.emplace_back(workers + stage.value);
    // A server computes none of a replica's pieces.
    plan.ranks[workers + stage.value].holds = {{stage, ReplicaId(0)}};
  }
  for (int worker = 0; worker < workers; ++worker) {
    RankProgram& rank = plan.ranks[worker];
    for (StageId stage; stage.value < serving; ++stage) rank.holds.push_back({stage, ReplicaId(worker)});
    for (StageId stage; stage.value < serving; ++stage)
      pass_stage(plan, rank, OpKind::forward, stage, MicroBatchId(0), StepId(0), VersionId(0));
    for (int stage = serving - 1; stage >= 0; --stage)
      pass_stage(plan, rank, OpKind::backward, StageId(stage), MicroBatchId(0), StepId(0), VersionId(0));
  }
  plan.tie = tied_segments(plan, input.model);
  for (const SegmentRun& run : buckets(plan, gradient_bytes(plan, input.model), input.spec.bucket))
    serve(plan, run, workers);
  return plan;
}

}  // namespace parabench::plan
