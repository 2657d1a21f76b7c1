#include "parallelism/plan/strategies/pipeline.h"

#include <algorithm>
#include <utility>

#include "parallelism/plan/passes/lowering.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/passes/pieces.h"

namespace parabench::plan {
namespace {

/// Stage and replica of a chunk on device p of the d-th copy.
Holding holding_of(StageOrder order, int devices, int device, int chunk, int copy) {
  return {stage_of_chunk(order, devices, device, chunk),
          ReplicaId(order == StageOrder::crossed ? 2 * copy + chunk : copy)};
}

}  // namespace

StageId stage_of_chunk(StageOrder order, int devices, int device, int chunk) {
  switch (order) {
    case StageOrder::looped: return StageId(chunk * devices + device);
    case StageOrder::folded: return StageId(chunk == 0 ? device : 2 * devices - 1 - device);
    case StageOrder::crossed: return StageId(chunk == 0 ? device : devices - 1 - device);
  }
  return {};
}

Plan pipeline_without_passes(const StrategyInput& input, const Schedule& schedule, const Pipe& pipe) {
  const Case& spec = input.spec;
  const bool crossed = schedule.stages == StageOrder::crossed;
  const Mesh mesh{.data = spec.dp, .pipeline = pipe.devices};
  require_ranks(mesh, spec.np);
  const int devices = pipe.devices, directions = crossed ? 2 : 1;
  Stages stages{.count = crossed ? devices : devices * pipe.chunks};
  if (pipe.chunks == 1) {
    for (int device = 0; device < devices; ++device) stages.in_flight.push_back(schedule.in_flight(pipe, device));
  }
  const Grain grain = spec.dp > 1 || spec.recompute == Recompute::automatic ? Grain::layer : Grain::stage;
  Plan plan = cut_model(input, stages, grain, spec.dp * directions, pipe.micro_batches / directions);
  for (int copy = 0; copy < spec.dp; ++copy) {
    for (int device = 0; device < devices; ++device) {
      RankProgram& rank = plan.ranks[rank_at(mesh, {.data = copy, .pipeline = device}).value];
      for (int chunk = 0; chunk < pipe.chunks; ++chunk)
        rank.holds.push_back(holding_of(schedule.stages, devices, device, chunk, copy));
      std::ranges::sort(rank.holds, {}, &Holding::stage);
      if (schedule.in_flight) rank.in_flight = schedule.in_flight(pipe, device);
    }
  }
  return plan;
}

void add_passes(const Plan& plan, const Schedule& schedule, const Pipe& pipe, int device, const DeviceOrder& order,
                RankProgram& rank) {
  for (const StagePass& pass : order) {
    pass_stage(plan, rank, pass.kind, stage_of_chunk(schedule.stages, pipe.devices, device, pass.chunk),
               MicroBatchId(pass.micro_batch), StepId(0), VersionId(0));
    rank.compute().back().overlaps_next = pass.overlaps_next;
  }
}

Plan pipeline_plan(const StrategyInput& input, const Schedule& schedule, const Pipe& pipe) {
  Plan plan = pipeline_without_passes(input, schedule, pipe);
  for (int r = 0; r < std::ssize(plan.ranks); ++r) {
    const int device = r % pipe.devices;
    add_passes(plan, schedule, pipe, device, schedule.order(pipe, device), plan.ranks[r]);
  }
  return finish_step(std::move(plan), input);
}

Plan finish_step(Plan plan, const StrategyInput& input) {
  const Case& spec = input.spec;
  const auto runs = spec.dp > 1 ? buckets(plan, gradient_bytes(plan, input.model), spec.bucket) : whole_stages(plan);
  plan = add_messages(std::move(plan));
  if (spec.zero == 0) return add_reduced_updates(std::move(plan), runs);
  plan = add_sharded_updates(std::move(plan), runs, runs);
  return spec.zero == 1 ? plan : scatter_pieces(std::move(plan), gradient_buffers);
}

}  // namespace parabench::plan
