#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "parallelism/plan/generators.h"
#include "parallelism/plan/lowering.h"
#include "parallelism/plan/pipedream_planner.h"
#include "parallelism/plan/stage_widths.h"

namespace parabench {
namespace {

/// Position of a rank among the holders of its stage.
struct Seat {
  StageId stage;
  int replica = 0;
};

std::vector<Seat> seats(const std::vector<int>& widths) {
  std::vector<Seat> result;
  for (int stage = 0; stage < std::ssize(widths); ++stage) {
    for (int replica = 0; replica < widths[stage]; ++replica) result.push_back({StageId(stage), replica});
  }
  return result;
}

int forwards_ahead(const std::vector<int>& widths, int stage) {
  return (std::accumulate(widths.begin() + stage, widths.end(), 0) - 1) / widths[stage];
}

Stages given_stages(const Case& spec) {
  Stages stages{.widths = stage_widths(spec), .weight_versions = 0};
  stages.count = static_cast<int>(stages.widths.size());
  for (int s = 0; s < stages.count; ++s) stages.in_flight.push_back(forwards_ahead(stages.widths, s) + 1);
  return stages;
}

Stages planned_stages(const StrategyInput& input) {
  const Profile& profile = input.profile;
  const std::vector<LayerBytes> memory = layer_bytes(input, 0);
  ReplicationProblem problem{.levels = {{input.spec.np, profile.link_bytes_per_s}}, .sync = sync_model(input.spec)};
  for (std::size_t l = 0; l < memory.size(); ++l) {
    problem.layers.push_back({profile.seconds.at(l), profile.sizes[l].output, profile.sizes[l].weights, memory[l]});
  }
  if (input.spec.partition == PartitionRule::memory) {
    problem.device_bytes = input.spec.memory->value - std::ranges::max(memory, {}, &LayerBytes::passing).passing;
  }
  Stages stages{.weight_versions = 0};
  const ReplicationPlan plan = plan_replication(problem);
  stages.count = static_cast<int>(plan.stages.size());
  for (const ReplicatedStage& stage : plan.stages) {
    stages.layers.push_back(stage.layers);
    stages.widths.push_back(stage.replicas);
  }
  return stages;
}

}  // namespace

// P = 3, backwards twice as long as forwards; every backward is followed by its update:
//   p0 F0 F1 F2 .  .  .  .  B0 B0 F3 B1 B1 F4 B2 B2 F5 ...
//   p1 .  F0 F1 .  .  B0 B0 F2 B1 B1 F3 B2 B2 F4 B3 B3 ...
//   p2 .  .  F0 B0 B0 F1 B1 B1 F2 B2 B2 F3 B3 B3 F4 B4 ...
// A stage with r replicas gives mini-batch k to replica k mod r; r mini-batches add up to one update. A replica starts
// floor((R - 1) / r) forwards ahead, R being the ranks of its stage and all behind, and each mini-batch reads the version of its
// start in both passes (weight stashing; Narayanan et al., SOSP'19).
Plan pipedream_plan(const StrategyInput& input) {
  const Stages stages = plans_widths(input.spec) ? planned_stages(input) : given_stages(input.spec);
  const std::vector<int>& widths = stages.widths;
  Plan plan = cut_model(input, stages, Grain::stage, 1, 1);
  plan.asynchronous = true;
  plan.steps = input.steps;
  const std::vector<Seat> seat = seats(widths);
  for (int r = 0; r < std::ssize(plan.ranks); ++r) {
    const auto [stage, replica] = seat[r];
    const int width = widths[stage.value];
    const int ahead = forwards_ahead(widths, stage.value);
    plan.versions[stage.value] = {.lag = ahead, .steps_per_update = width};

    RankProgram& rank = plan.ranks[r];
    rank.holds = {{stage, 0}};
    const SegmentId segment = segments_of(plan, stage).first;
    std::vector<int> own;
    for (int step = replica; step < input.steps; step += width) own.push_back(step);
    const int warmup = std::min(ahead, static_cast<int>(own.size()));
    rank.weight_versions = std::max(1, std::min(ahead + 1, (input.steps + width - 1) / width));
    const auto run = [&](OpKind kind, int step) {
      pass_stage(plan, rank, kind, stage, MicroBatchId(0), step, version_read(plan, stage, step));
    };
    for (int i = 0; i < warmup; ++i) run(OpKind::forward, own[i]);
    for (int i = 0; i < std::ssize(own); ++i) {
      if (i + warmup < std::ssize(own)) run(OpKind::forward, own[i + warmup]);
      run(OpKind::backward, own[i]);
      const int due = own[i] / width * width + width - 1;
      if (due >= input.steps) continue;
      if (width > 1) rank.lane(LaneKind::collectives, stage.value).push_back(all_reduce(segment, 1, due));
      rank.compute().push_back(update(segment, 1, due, updates_by(plan, stage, due)));
    }
  }
  return add_messages(std::move(plan));
}

// Narayanan et al., ICML'21: 1F1B on an endless stream, one update per mini-batch of M micro-batches, and two weight
// versions on every stage: step t reads the weights of update t - 1.
Plan pipedream_2bw_plan(const StrategyInput& input) {
  const int devices = input.spec.np, micro_batches = input.spec.micro, last = input.steps * micro_batches;
  Stages stages{.count = devices, .weight_versions = 2};
  for (int p = 0; p < devices; ++p) stages.in_flight.push_back(devices - p);
  Plan plan = cut_model(input, stages, Grain::stage, 1, micro_batches);
  plan.asynchronous = true;
  plan.steps = input.steps;
  plan.versions.assign(devices, {.lag = 1});
  for (int p = 0; p < devices; ++p) {
    RankProgram& rank = plan.ranks[p];
    const StageId stage(p);
    rank.holds = {{stage, 0}};
    rank.weight_versions = std::min(2, input.steps);
    const int ahead = std::min(devices - 1 - p, last);
    const auto run = [&](OpKind kind, int k) {
      const int step = k / micro_batches;
      pass_stage(plan, rank, kind, stage, MicroBatchId(k % micro_batches), step, version_read(plan, stage, step));
    };
    for (int k = 0; k < ahead; ++k) run(OpKind::forward, k);
    for (int k = 0; k < last; ++k) {
      if (k + ahead < last) run(OpKind::forward, k + ahead);
      run(OpKind::backward, k);
      const int step = k / micro_batches;
      if (k % micro_batches == micro_batches - 1) {
        rank.compute().push_back(update(segments_of(plan, stage).first, 1, step, step + 1));
      }
    }
  }
  return add_messages(std::move(plan));
}

}  // namespace parabench
