#include "parallelism/plan/strategies/pipeline_outline.h"

#include <algorithm>
#include <set>
#include <utility>

#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/passes/rank_passes.h"
#include "parallelism/plan/strategies/check_case.h"
#include "parallelism/plan/strategies/pipeline.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::plan {
namespace {

/// Of each kind of pass of a chunk the first one: some schedules split the backwards of some micro-batches alone.
DeviceOrder first_of_each_kind(const DeviceOrder& order) {
  DeviceOrder first;
  for (const StagePass& pass : order) {
    const auto is_like_it = [&](const StagePass& other) {
      return other.kind == pass.kind && other.chunk == pass.chunk;
    };
    if (std::ranges::none_of(first, is_like_it)) first.push_back(pass);
  }
  return first;
}

/// Where the last micro-batch does not run again, the first one does, unless it is the only one.
Recompute of_first(const Case& spec, const Pipe& pipe) {
  return spec.recompute == Recompute::except_last && pipe.micro_batches > 1 ? Recompute::all : spec.recompute;
}

/// The other rank that computes a stage, -1 where it is this one or none.
Rank neighbour(const PipelineOutline& outline, Rank rank, int stage) {
  const int devices = static_cast<int>(outline.orders.size());
  if (stage < 0 || stage >= outline.plan.stages) return Rank(-1);
  const bool back = outline.stages == StageOrder::folded && stage >= devices;
  const Rank owner(back ? 2 * devices - 1 - stage : stage % devices);
  return owner == rank ? Rank(-1) : owner;
}

/// What follows a pass: the message to whoever takes what it made.
std::optional<Op> send_after(const PipelineOutline& outline, Rank rank, OpKind kind, StageId stage, MicroBatchId m) {
  const bool forwards = kind == OpKind::forward;
  if (!forwards && !makes_input_gradient(kind)) return std::nullopt;
  const Rank to = neighbour(outline, rank, stage.value + (forwards ? 1 : -1));
  if (to.value < 0) return std::nullopt;
  return (forwards ? send_forward : send_backward)(SegmentId(stage.value), m, StepId(0), to);
}

/// `has`: whether a micro-batch is asked for.
template <class Has, class Visit>
void for_each_send(const PipelineOutline& outline, const std::vector<DeviceOrder>& passes, Rank from, Has has,
                   Visit visit) {
  const int devices = static_cast<int>(outline.orders.size());
  for (const StagePass& pass : passes[from.value]) {
    if (!has(pass.micro_batch)) continue;
    const StageId stage = stage_of_chunk(outline.stages, devices, from.value, pass.chunk);
    if (const auto send = send_after(outline, from, pass.kind, stage, MicroBatchId(pass.micro_batch))) visit(*send);
  }
}

template <class Has>
RankProgram program_of(const PipelineOutline& outline, const std::vector<DeviceOrder>& passes, Rank rank, Has has) {
  const RankProgram& first = outline.plan.ranks[rank.value];
  const int devices = static_cast<int>(outline.orders.size());
  RankProgram program{.holds = first.holds, .weight_versions = first.weight_versions, .in_flight = first.in_flight};
  std::set<Rank> senders;
  for (const Holding& held : first.holds) {
    senders.insert(neighbour(outline, rank, held.stage.value - 1));
    senders.insert(neighbour(outline, rank, held.stage.value + 1));
  }
  for (const StagePass& pass : passes[rank.value]) {
    if (!has(pass.micro_batch)) continue;
    const StageId stage = stage_of_chunk(outline.stages, devices, rank.value, pass.chunk);
    program.compute().push_back(
        plan::pass(pass.kind, SegmentId(stage.value), MicroBatchId(pass.micro_batch), StepId(0), VersionId(0)));
    program.compute().back().overlaps_next = pass.overlaps_next;
  }
  for_each_send(outline, passes, rank, has, [&](const Op& send) { program.lane(lane_of(send)).push_back(send); });
  for (const Rank from : senders) {
    if (from.value < 0) continue;
    for_each_send(outline, passes, from, has, [&](const Op& send) {
      if (send.peer != rank) return;
      const Op receive = receive_of(send, from, {});
      program.lane(lane_of(receive)).push_back(receive);
    });
  }
  std::ranges::copy_if(first.compute(), std::back_inserter(program.compute()),
                       [](const Op& op) { return op.kind == OpKind::update; });
  add_recompute(program, outline.plan.spec.recompute);
  mark_accumulation(outline.plan, program);
  return program;
}

}  // namespace

bool has_outline(const Case& spec) {
  const Strategy& strategy = find_strategy(spec.strategy.name);
  return strategy.schedule.order && strategy.schedule.stages != StageOrder::crossed && spec.np > 1 && spec.dp == 1 &&
         spec.recompute != Recompute::automatic && !is_futurized(spec);
}

std::optional<PipelineOutline> outline_of(const Case& spec, const models::ModelSpec& model, const Profile& profile) {
  if (!has_outline(spec)) return std::nullopt;
  check_meaning(spec, model);
  const Strategy& strategy = find_strategy(spec.strategy.name);
  const Pipe pipe = strategy.pipe(spec);
  const StrategyInput input{spec, model, profile};
  Plan plan = pipeline_without_passes(input, strategy.schedule, pipe);
  if (model.tie || !plan.skips.empty() || !plan.statistics.empty()) return std::nullopt;
  PipelineOutline outline{.plan = {}, .orders = {}, .stages = strategy.schedule.stages};
  for (int device = 0; device < pipe.devices; ++device) {
    outline.orders.push_back(strategy.schedule.order(pipe, device));
    add_passes(plan, strategy.schedule, pipe, device, first_of_each_kind(outline.orders.back()), plan.ranks[device]);
  }
  outline.plan = mark_accumulation(add_recompute(finish_step(std::move(plan), input), of_first(spec, pipe)));
  return outline;
}

RankProgram written_program(const PipelineOutline& outline, Rank rank) {
  return program_of(outline, outline.orders, rank, [](int) { return true; });
}

std::vector<DeviceOrder> passes_of(const PipelineOutline& outline, const std::vector<int>& micro_batches) {
  std::vector<char> is_asked(plan::micro_batches(outline.plan), 0);
  for (const int m : micro_batches) is_asked[m] = 1;
  std::vector<DeviceOrder> passes(outline.orders.size());
  for (std::size_t rank = 0; rank < passes.size(); ++rank) {
    std::ranges::copy_if(outline.orders[rank], std::back_inserter(passes[rank]),
                         [&](const StagePass& pass) { return is_asked[pass.micro_batch] != 0; });
  }
  return passes;
}

RankProgram written_program(const PipelineOutline& outline, Rank rank, const std::vector<int>& micro_batches,
                            const std::vector<DeviceOrder>& passes) {
  return program_of(outline, passes, rank, [&](int m) { return std::ranges::binary_search(micro_batches, m); });
}

}  // namespace parabench::plan
