// Small models, cases and timelines for tests of plans.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "parallelism/plan/matching.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/rules/progress.h"
#include "parallelism/plan/strategies/check_case.h"
#include "parallelism/plan/strategies/parameter_server.h"
#include "parallelism/plan/strategies/strategies.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "parallelism/plan/timeline.h"
#include "tests/base/case_of.h"

namespace parabench::plan {

/// `0F0 0B0 0UPDATE`.
inline std::string lane_text(const std::vector<Op>& ops) {
  std::string text;
  for (const Op& op : ops) {
    if (!text.empty()) text += ' ';
    text += to_text(op);
  }
  return text;
}

inline std::vector<std::string> texts(const std::vector<Op>& ops) {
  std::vector<std::string> result;
  for (const Op& op : ops) result.push_back(to_text(op));
  return result;
}

/// Why check_case() refuses a case; "accepted" where it does not.
inline std::string refusal_of(const Case& spec, const models::ModelSpec& model) {
  try {
    check_case(spec, model);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

/// A tensor that skips layers of a chain; of one layer, skips of one tensor are the same.
struct LayerSkip {
  int from = 0, to = 0;  ///< layers
  int tensor = 0;
};

/// A chain of `layers` linear layers, the i-th (from 0) with (i + 5)^2 parameters. What layer `from` makes for others
/// is its output; of tensors that are not the same, the output and the input.
inline models::ModelSpec chain_model(int layers, const std::vector<LayerSkip>& skips = {}) {
  models::ModelSpec model{.name = "chain", .input = {4}, .classes = 4, .layers = {}};
  for (int i = 0; i < layers; ++i) {
    const std::string name = "layer" + std::to_string(i);
    const int in = i == 0 ? 4 : i + 4;
    model.layers.push_back(models::chain(name, {{name, models::Linear{in, i + 5}}}));
  }
  for (std::size_t i = 0; i < skips.size(); ++i) {
    const auto [from, to, tensor] = skips[i];
    const std::string port = "skip" + std::to_string(i);
    const bool is_output = tensor % 2 == 0;
    model.layers[from].makes.push_back({port, is_output ? 0 : models::layer_input});
    model.layers[to].takes.push_back({port, {is_output || from > 0 ? from + (is_output ? 5 : 4) : 4}});
  }
  return model;
}

/// Up to two tensors of each of some layers, each for one or two later ones.
inline std::vector<LayerSkip> random_skips(std::mt19937& random, int layers) {
  std::vector<LayerSkip> skips;
  for (int from = 0; from + 1 < layers; ++from) {
    for (int tensor = 0; tensor < 2; ++tensor) {
      for (int takers = std::uniform_int_distribution<int>(-1, 2)(random); takers > 0; --takers)
        skips.push_back({from, std::uniform_int_distribution<int>(from + 1, layers - 1)(random), 2 * from + tensor});
    }
  }
  return skips;
}

/// A plan on a chain of `layers` layers of equal time.
inline Plan test_plan(const Case& spec, int layers, int steps = 1, const std::vector<LayerSkip>& skips = {}) {
  const std::vector<double> seconds(layers, 1.0);
  return make_plan(spec, chain_model(layers, skips), seconds, steps);
}
/// On a chain of one layer per stage.
inline Plan test_plan(const Case& spec) { return test_plan(spec, find_strategy(spec.strategy.name).stages(spec)); }

/// A synchronous pipeline of one layer per stage and one sample per micro-batch.
inline Case pipeline_case(const std::string& strategy, int devices, int micro_batches, int chunks = 2, int dp = 1) {
  Case spec = case_of(strategy, devices * dp, micro_batches * dp);
  spec.micro = micro_batches;
  spec.dp = dp;
  if (find_strategy(strategy).uses("chunks")) spec.chunks = chunks;
  return spec;
}
inline Plan gpipe_of(int stages, int micro_batches, int batch) {
  Case spec = pipeline_case("gpipe", stages, micro_batches);
  spec.batch = batch;
  return test_plan(spec);
}
/// One layer per stage.
inline Plan pipedream_of(int stages, int steps) { return test_plan(case_of("pipedream", stages, 2), stages, steps); }
/// With `replicas` such as 3-1; ranks are their sum.
inline Plan pipedream_of(const std::string& replicas, int ranks, int stages, int steps) {
  Case spec = case_of("pipedream", ranks, 2);
  spec.strategy.parameters = {{"replicas", replicas}};
  return test_plan(spec, stages, steps);
}

/// Names of the strategies that write a schedule of a synchronous pipeline of several micro-batches.
inline std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) {
    if (strategy.schedule.order && strategy.uses("micro")) names.emplace_back(strategy.name);
  }
  return names;
}

/// Of these, those with split backwards, the plainest first.
inline std::vector<std::string> split_schedule_names() {
  std::vector<std::string> names = schedule_names();
  std::erase_if(names, [](const std::string& name) { return !find_strategy(name).splits_backwards(); });
  return names;
}

/// Whether a case on one layer per stage is possible in itself.
inline bool is_possible(const Case& spec, int layers) {
  try {
    check_case(spec, chain_model(layers));
    return true;
  } catch (const Error&) {
    return false;
  }
}

struct UnitCosts {
  double forward = 1, backward = 2;  ///< of all that a device computes for a micro-batch; I and W are half of B each
  double message = 0, reduction = 0, update = 0;
  double of(const Plan& plan, Rank rank, const Op& op) const {
    const double pass = 1.0 / segments_passed(plan, rank, op);
    switch (op.kind) {
      case OpKind::forward:
      case OpKind::recompute: return forward * pass;
      case OpKind::backward: return backward * pass;
      case OpKind::backward_input:
      case OpKind::backward_weight: return backward / 2 * pass;
      case OpKind::norms:
      case OpKind::update:
      case OpKind::add:
      case OpKind::average:
      case OpKind::encode:
      case OpKind::project:
      case OpKind::decode: return update;
      case OpKind::all_reduce:
      case OpKind::reduce_scatter:
      case OpKind::all_gather:
      case OpKind::broadcast: return reduction;
      case OpKind::send:
      case OpKind::receive: return message;
    }
    return 0;
  }

 private:
  static int segments_passed(const Plan& plan, Rank rank, const Op& op) {
    const ReplicaId replica = replica_of(plan, rank, op.segment);
    return static_cast<int>(std::ranges::count_if(segments_held(plan, rank),
                                                  [&](SegmentId s) { return replica_of(plan, rank, s) == replica; }));
  }
};

/// Earliest times of every operation: messages start when both ends are ready, reductions when all ranks are.
inline Timeline timeline_of(const Plan& plan, const UnitCosts& costs = {}) {
  std::vector<LocalDependencies> local;
  Timeline timeline;
  for (int r = 0; r < std::ssize(plan.ranks); ++r) {
    local.push_back(dependencies(plan, Rank(r)));
    auto& lanes = timeline.ranks.emplace_back();
    for (const Lane& lane : plan.ranks[r].lanes) lanes.emplace_back(lane.ops.size());
  }
  const Matching matching = match(plan);
  const auto span = [&](OpRef ref) -> Span& { return timeline.ranks[ref.rank.value][ref.lane][ref.index]; };
  const auto earliest = [&](OpRef ref) {
    double start = ref.index > 0 ? span({ref.rank, ref.lane, ref.index - 1}).end : 0.0;
    span(ref).queued = start;
    for (OpRef before : local[ref.rank.value].of(ref.lane, ref.index)) start = std::max(start, span(before).end);
    return start;
  };
  for (OpRef ref : run_lanes(plan, local, matching, Delivery::rendezvous).order) {
    double start = earliest(ref);
    for (const LaneRef& partner : matching[ref.rank.value][ref.lane]) {
      start = std::max(start, earliest({partner.rank, partner.lane, ref.index}));
    }
    span(ref).start = start;
    span(ref).end = start + costs.of(plan, ref.rank, at(plan, ref));
  }
  return timeline;
}

/// Most pairs of stage and micro-batch between the start of their forward and the end of their last backward, in the
/// order of the compute lane.
inline int peak_in_flight(const Plan& plan, int rank) {
  int now = 0, peak = 0;
  for (const Op& op : plan.ranks[rank].compute()) {
    if (op.segment != segments_of(plan, stage_of(plan, op.segment)).first) continue;
    if (op.kind == OpKind::forward) peak = std::max(peak, ++now);
    if (makes_weight_gradient(op.kind)) --now;
  }
  return peak;
}

inline int uniform(std::mt19937& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

/// A random case of a random strategy on `layers` layers, with copies, chunks, recompute, replicas, an odd warm-up; not
/// all are possible (csv needs its file).
inline Case random_case(std::mt19937& random, int& layers) {
  const auto all = strategies();
  const Strategy& strategy = all[uniform(random, 0, static_cast<int>(all.size()) - 1)];
  Case spec = case_of(std::string(strategy.name), strategy.ranks == RankUse::one ? 1 : uniform(random, 1, 4), 0);
  if (strategy.uses("dp")) spec.dp = uniform(random, 1, 3);
  spec.np *= spec.dp;
  if (strategy.uses("micro")) spec.micro = uniform(random, 1, 8);
  if (strategy.uses("zero") && spec.dp > 1) spec.zero = uniform(random, 0, 2);
  if (strategy.uses("chunks")) spec.chunks = uniform(random, 1, 3);
  if (strategy.uses("warmup") && uniform(random, 0, 1) == 1) spec.warmup = uniform(random, 0, 8);
  if (strategy.uses("bucket")) spec.bucket = Bytes(uniform(random, 1, 1000));
  if (strategy.uses("shard") && uniform(random, 0, 2) > 0) {
    spec.shard = uniform(random, 1, 3);
    spec.np = *spec.shard * uniform(random, 1, 3);
  }
  if (strategy.uses("prefetch")) spec.prefetch = uniform(random, 0, 3);
  if (strategy.uses("reshard")) spec.reshard = uniform(random, 0, 3) > 0;
  spec.recompute = static_cast<Recompute>(uniform(random, 0, 2));
  if (strategy.find_parameter("replicas") && uniform(random, 0, 1) == 1) {
    std::string replicas;
    spec.np = 0;
    for (int stage = uniform(random, 1, 3); stage > 0; --stage) {
      const int width = uniform(random, 1, 3);
      replicas += (replicas.empty() ? "" : "-") + std::to_string(width);
      spec.np += width;
    }
    spec.strategy.parameters = {{"replicas", replicas}};
  }
  if (strategy.find_parameter("fusion")) {
    spec.strategy.parameters = {{"fusion", std::to_string(uniform(random, 1, 1000))},
                                {"cycle", std::to_string(uniform(random, 0, 9)) + "s"}};
  }
  if (strategy.find_parameter("every")) {
    spec.strategy.parameters = {{"every", std::to_string(uniform(random, 1, 3))},
                                {"outer", uniform(random, 0, 1) == 0 ? "none" : "nesterov"}};
  }
  if (strategy.find_parameter("servers")) {
    spec.strategy.parameters = {{"servers", std::to_string(uniform(random, 1, 2))}};
    int mode = uniform(random, 0, 4);
    if (uniform(random, 0, 2) == 0) {
      spec.strategy.parameters = {{"servers", std::to_string(uniform(random, 1, 3))}, {"cut", "tensors"}};
      mode = std::min(mode, 3);
    }
    const char* const modes[] = {"sync", "sync", "async", "stale", "backup"};
    if (mode > 1) spec.strategy.parameters.push_back({"mode", modes[mode]});
    if (mode > 2) spec.strategy.parameters.push_back({"k", std::to_string(uniform(random, 1, 3))});
  }
  if (strategy.uses("compress") && spec.np > 1) {
    const NamedChoice choices[] = {{"none", {}},
                                   {"bf16", {}},
                                   {"powersgd", {{"rank", "1"}}},
                                   {"powersgd", {{"rank", "1"}}},
                                   {"topk", {{"ratio", "0.1"}}}};
    spec.compress = choices[uniform(random, 0, 4)];
  }
  if (strategy.uses("reduce")) spec.reduce = static_cast<ReduceKind>(uniform(random, 0, 6));
  if (strategy.uses("order") && uniform(random, 0, 3) > 0) {
    spec.order = {"priority", {{"partition", std::to_string(uniform(random, 1, 300))}}};
    spec.bucket = Case{}.bucket;
    spec.compress = Case{}.compress;
  }
  spec.batch = strategy.pieces(spec) + uniform(random, 0, 9);
  if (strategy.find_parameter("servers") && serving(spec).backups > 0)
    spec.batch = strategy.pieces(spec) * uniform(random, 1, 3);
  layers = strategy.stages(spec) + uniform(random, 0, 4);
  return spec;
}

/// A plan of one step with its updates sharded among the holders of each stage, as ZeRO's stage 1 has it.
inline Plan sharded(Plan plan) {
  std::vector<SegmentRun> runs;
  for (RankProgram& rank : plan.ranks) {
    std::erase_if(rank.lanes, [](const Lane& lane) { return lane.key.kind == LaneKind::collectives; });
    std::erase_if(rank.compute(), [&](const Op& op) {
      if (op.kind == OpKind::norms || op.kind == OpKind::add) return true;
      if (op.kind != OpKind::update) return false;
      const SegmentRun run{op.segment, op.segments};
      if (std::ranges::find(runs, run) == runs.end()) runs.push_back(run);
      return true;
    });
  }
  plan.groups.clear();
  plan.room = {};
  plan.parts.clear();
  plan.updates_late = plan.scatters_pieces = false;
  return mark_accumulation(add_sharded_updates(std::move(plan), runs, runs));
}

/// A random plan; synchronous ones unrolled to a few steps, a third of those that reduce sharded before. With `skips`,
/// half of them on a model with skips, these.
inline Plan random_plan(std::mt19937& random, std::vector<LayerSkip>* skips = nullptr) {
  for (;;) {
    int layers = 0;
    const Case spec = random_case(random, layers);
    if (!is_possible(spec, layers)) continue;
    if (skips) *skips = uniform(random, 0, 1) == 1 ? random_skips(random, layers) : std::vector<LayerSkip>();
    Plan plan = test_plan(spec, layers, uniform(random, 1, 8), skips ? *skips : std::vector<LayerSkip>());
    if (plan.asynchronous) return plan;
    const bool sums_whole = plan.averaging.every == 0 && !uses(plan, OpKind::encode);
    if (!plan.groups.empty() && plan.servers.empty() && sums_whole && uniform(random, 0, 2) == 0) {
      if (uniform(random, 0, 1) == 0) plan.spec.optimizer = {"lars", {}};
      plan = sharded(std::move(plan));
    }
    return unroll(plan, uniform(random, 1, 3));
  }
}

}  // namespace parabench::plan
