#include "parallelism/plan/strategies/strategies.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/strategies/check_skips.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "parallelism/plan/strategies/generators.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench {

namespace {

using Keys = std::vector<std::string_view>;

Keys pipeline_keys(std::string_view more = {}) {
  Keys keys = {"micro", "dp", "bucket", "partition"};
  if (!more.empty()) keys.push_back(more);
  return keys;
}

/// Pairs of chunk and micro-batch that each schedule has in flight at most (schedules: the table of all of them).
int everything(const Pipe& pipe, int) { return pipe.chunks * pipe.micro_batches; }
int one_chunk(const Pipe& pipe, int most) { return std::min(most, pipe.micro_batches); }
int alternating_peak(const Pipe& pipe, int device) {
  return one_chunk(pipe, std::max(pipe.devices - device, pipe.warmup - 2 * device + 1));
}
int interleaved_peak(const Pipe& pipe, int device) {
  const int group = pipe.micro_batches / std::max(1, pipe.micro_batches / pipe.devices);
  return std::min(2 * (pipe.devices - 1 - device) + (pipe.chunks - 1) * group + 1, everything(pipe, device));
}
int h1_peak(const Pipe& pipe, int) { return one_chunk(pipe, pipe.devices); }
int h2_peak(const Pipe& pipe, int) { return one_chunk(pipe, 2 * pipe.devices - 1); }
int v_peak(const Pipe& pipe, int) { return 2 * one_chunk(pipe, pipe.devices); }
int dual_peak(const Pipe& pipe, int) { return 2 * pipe.devices + 1; }

Plan with_schedule(const Strategy& strategy, const StrategyInput& input) {
  Case spec = input.spec;
  if (!strategy.uses("micro")) spec.micro = 1;
  // Its own default, so that the schedule sees a number.
  if (strategy.uses("warmup") && !spec.warmup) spec.warmup = 2 * (spec.np / spec.dp - 1);
  Plan plan = pipeline_plan({spec, input.model, input.profile, 1, nullptr}, strategy.schedule, strategy.chunks(spec));
  plan.spec = input.spec;
  return plan;
}

}  // namespace

std::span<const Strategy> strategies() {
  constexpr auto looped = StageOrder::looped, folded = StageOrder::folded, crossed = StageOrder::crossed;
  static const std::vector<Strategy> table = {
      {.name = "sequential", .ranks = RankUse::one, .write = data_parallel_plan},
      {.name = "data-parallel", .ranks = RankUse::replicas, .keys = {"bucket"}, .write = data_parallel_plan},
      {.name = "model-parallel",
       .ranks = RankUse::stages,
       .keys = {"partition"},
       .schedule = {looped, all_forwards_first, everything}},
      {.name = "gpipe",
       .ranks = RankUse::stages,
       .keys = pipeline_keys(),
       .schedule = {looped, all_forwards_first, everything}},
      {.name = "1f1b",
       .ranks = RankUse::stages,
       .keys = pipeline_keys(),
       .schedule = {looped, one_forward_one_backward, alternating_peak}},
      {.name = "dapple",
       .ranks = RankUse::stages,
       .keys = pipeline_keys("warmup"),
       .schedule = {looped, one_forward_one_backward, alternating_peak}},
      {.name = "interleaved",
       .ranks = RankUse::stages,
       .keys = pipeline_keys("chunks"),
       .schedule = {looped, interleaved, interleaved_peak}},
      {.name = "looped-bfs",
       .ranks = RankUse::stages,
       .keys = pipeline_keys("chunks"),
       .schedule = {looped, all_forwards_first, everything}},
      {.name = "zb-h1",
       .ranks = RankUse::stages,
       .keys = pipeline_keys(),
       .schedule = {looped, zero_bubble_h1, h1_peak}},
      {.name = "zb-h2",
       .ranks = RankUse::stages,
       .keys = pipeline_keys(),
       .schedule = {looped, zero_bubble_h2, h2_peak}},
      {.name = "zb-v",
       .ranks = RankUse::stages,
       .keys = pipeline_keys(),
       .fixed_chunks = 2,
       .schedule = {folded, zero_bubble_v, v_peak}},
      {.name = "dualpipev",
       .ranks = RankUse::stages,
       .keys = pipeline_keys(),
       .fixed_chunks = 2,
       .schedule = {folded, dual_pipe_v, dual_peak}},
      {.name = "chimera",
       .ranks = RankUse::stages,
       .keys = pipeline_keys(),
       .fixed_chunks = 2,
       .schedule = {crossed, chimera, nullptr}},
      {.name = "pipedream",
       .ranks = RankUse::stages,
       .keys = {"partition"},
       .parameters = {"replicas", "sync"},
       .write = pipedream_plan,
       .delay = weight_stashing},
      {.name = "pipedream-2bw",
       .ranks = RankUse::stages,
       .keys = {"micro", "partition"},
       .write = pipedream_2bw_plan,
       .delay = double_buffering},
      {.name = "csv", .ranks = RankUse::stages, .keys = pipeline_keys(), .parameters = {"sha"}, .write = csv_plan},
  };
  return table;
}

bool Strategy::uses(std::string_view key) const { return std::ranges::find(keys, key) != keys.end(); }

int Strategy::stages(const Case& spec) const {
  if (ranks != RankUse::stages) return 1;
  if (!schedule.order) return plans_widths(spec) ? 1 : static_cast<int>(stage_widths(spec).size());
  // Crossed pipelines are two over the same devices.
  return spec.np / spec.dp * (schedule.stages == StageOrder::crossed ? 1 : chunks(spec));
}

int Strategy::pieces(const Case& spec) const {
  if (ranks == RankUse::replicas) return spec.np;
  return (uses("micro") ? spec.micro : 1) * spec.dp;
}

const Strategy& find_strategy(std::string_view name) {
  auto found = std::ranges::find(strategies(), name, &Strategy::name);
  if (found == strategies().end()) {
    throw usage_error("strategy", name, "a known strategy", nearest_hint(name, strategy_names()));
  }
  return *found;
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) names.emplace_back(strategy.name);
  return names;
}

int largest_piece(const Case& spec) {
  const int pieces = find_strategy(spec.strategy.name).pieces(spec);
  return (spec.batch + pieces - 1) / pieces;
}

Plan make_plan(const Case& spec, const ModelSpec& model, const Profile& profile, int steps,
               const GivenSchedule* given) {
  check_case(spec, model, given);
  if (steps < 1) throw usage_error("steps", std::to_string(steps), "an integer >= 1");
  const Strategy& strategy = find_strategy(spec.strategy.name);
  const StrategyInput input{spec, model, profile, steps, given};
  Plan plan = strategy.schedule.order ? with_schedule(strategy, input) : strategy.write(input);
  check_skips(plan, model);
  return mark_accumulation(add_recompute(std::move(plan), spec.recompute));
}

}  // namespace parabench
