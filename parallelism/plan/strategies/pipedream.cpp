#include "parallelism/plan/strategies/pipedream.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "parallelism/plan/partition/pipedream_planner.h"
#include "parallelism/plan/passes/lowering.h"
#include "parallelism/plan/schedules/one_forward_one_backward.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "parallelism/plan/strategies/stage_widths.h"

namespace parabench::plan {
namespace {

/// `weight_versions`: that a rank holds; 0: one for each mini-batch in flight.
Stages given_stages(const Case& spec, int weight_versions) {
  Stages stages{.widths = stage_widths(spec), .weight_versions = weight_versions};
  stages.count = static_cast<int>(stages.widths.size());
  for (const int ahead : mini_batches_ahead(stages.widths)) stages.in_flight.push_back(ahead + 1);
  return stages;
}

Stages planned_stages(const StrategyInput& input) {
  const Profile& profile = input.profile;
  const std::vector<LayerBytes> memory = layer_bytes(input, 0);
  const std::vector<double> seconds = profile.seconds_per_piece(1);  // every mini-batch of a rank makes an update
  ReplicationProblem problem{.levels = {{input.spec.np, profile.link_bytes_per_s, profile.ring_bytes_per_s}},
                             .sync = sync_model(input.spec)};
  for (std::size_t l = 0; l < memory.size(); ++l) {
    problem.layers.push_back({seconds.at(l), profile.sizes[l].output, profile.sizes[l].weights, memory[l]});
  }
  if (input.spec.partition == PartitionRule::memory) {
    problem.device_bytes = input.spec.memory->value;
    problem.passing_bytes = std::ranges::max(memory, {}, &LayerBytes::passing).passing;
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

/// 1F1B over all mini-batches of the window that the rank takes: every width-th of its stage, from `first` on.
/// `group`: the ranks of the stage, where they are several.
void fill(const Plan& plan, RankProgram& rank, StageId stage, int first, int ahead, GroupId group) {
  const VersionRule& rule = plan.versions[stage.value];
  const int width = rule.steps_per_update, each = micro_batches(plan);
  const int mini_batches = (plan.steps - first + width - 1) / width;
  const SegmentId segment = segments_of(plan, stage).first;
  rank.holds = {{stage, ReplicaId(0)}};
  rank.weight_versions = std::min(rule.lag + 1, (plan.steps + width - 1) / width);
  for (const StagePass& pass : alternating(ahead, mini_batches * each)) {
    const StepId step(first + pass.micro_batch / each * width);
    const MicroBatchId m(pass.micro_batch % each);
    pass_stage(plan, rank, pass.kind, stage, m, step, version_read(plan, stage, step));
    const StepId due(step.value / width * width + width - 1);
    if (pass.kind == OpKind::forward || m.value + 1 < each || due.value >= plan.steps) continue;
    if (width > 1) {
      const Op sum = all_reduce(segment, 1, due, group);
      rank.lane(lane_of(sum)).push_back(sum);
    }
    rank.compute().push_back(update(segment, 1, due, updates_by(plan, stage, due)));
  }
}

Plan asynchronous_plan(const StrategyInput& input, const Stages& stages, int micro_batches) {
  Plan plan = cut_model(input, stages, Grain::stage, 1, micro_batches);
  plan.asynchronous = true;
  plan.steps = input.steps;
  const std::vector<int> ahead = mini_batches_ahead(stages.widths);
  Rank rank(0);
  for (StageId stage; stage.value < plan.stages; ++stage) {
    const int width = stages.widths[stage.value];
    GroupId group(-1);
    if (width > 1) {
      group = GroupId(static_cast<int>(plan.groups.size()));
      plan.groups.push_back({Axis::data, {}});
    }
    for (int first = 0; first < width; ++first, ++rank) {
      if (width > 1) plan.groups.back().ranks.push_back(rank);
      fill(plan, plan.ranks[rank.value], stage, first, ahead[stage.value], group);
    }
  }
  return add_messages(std::move(plan));
}

}  // namespace

// P = 3, backwards twice as long as forwards; every backward is followed by its update:
//   p0 F0 F1 F2 .  .  .  .  B0 B0 F3 B1 B1 F4 B2 B2 F5 ...
//   p1 .  F0 F1 .  .  B0 B0 F2 B1 B1 F3 B2 B2 F4 B3 B3 ...
//   p2 .  .  F0 B0 B0 F1 B1 B1 F2 B2 B2 F3 B3 B3 F4 B4 ...
// A stage with r replicas gives mini-batch k to replica k mod r; r mini-batches add up to one update. A replica starts
// as many mini-batches ahead as keep all ranks behind it busy, and each mini-batch reads the version of its start in
// both passes (weight stashing; Narayanan et al., SOSP'19).
Plan pipedream_plan(const StrategyInput& input) {
  const Stages stages = plans_widths(input.spec) ? planned_stages(input) : given_stages(input.spec, 0);
  return asynchronous_plan(input, stages, 1);
}

// Narayanan et al., ICML'21: 1F1B on an endless stream, one update per mini-batch of M micro-batches, and two weight
// versions on every stage: step t reads the weights of update t - 1.
Plan pipedream_2bw_plan(const StrategyInput& input) {
  return asynchronous_plan(input, given_stages(input.spec, 2), input.spec.micro);
}

std::optional<Error> refuse_a_third_version(const Pipe& pipe) {
  const int least = pipe.devices - 1;
  if (pipe.micro_batches >= least) return std::nullopt;
  return usage_error("micro", std::to_string(pipe.micro_batches),
                     "at least " + std::to_string(least) +
                         ": with fewer, mini-batches in flight would need more than two weight versions",
                     "try micro:" + std::to_string(pipe.devices));
}

}  // namespace parabench::plan
