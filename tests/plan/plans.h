// Small models, cases and timelines for tests of plans.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/progress.h"
#include "parallelism/plan/strategies.h"
#include "parallelism/plan/strategy_table.h"
#include "parallelism/plan/timeline.h"

namespace parabench {

/// A chain of `layers` linear layers, the i-th (from 0) with (i + 5)^2 parameters.
inline ModelSpec chain_model(int layers) {
  ModelSpec model{.name = "chain", .input = {4, 1, 1}, .classes = 4, .layers = {}};
  for (int i = 0; i < layers; ++i) {
    const std::string name = "layer" + std::to_string(i);
    const int in = i == 0 ? 4 : i + 4;
    model.layers.push_back({.name = name, .body = {{name, Linear{in, i + 5}}}, .residual = false, .shortcut = {}});
  }
  return model;
}

inline Case case_of(const std::string& strategy, int np, int batch) {
  Case spec;
  spec.model.name = "resnet18";
  spec.dataset.name = "cifar10-synthetic";
  spec.strategy.name = strategy;
  spec.np = np;
  spec.batch = batch;
  return spec;
}

/// A plan on a chain of `layers` layers of equal time.
inline Plan plan_of(const Case& spec, int layers, int steps = 1) {
  const std::vector<double> seconds(layers, 1.0);
  return make_plan(spec, chain_model(layers), seconds, steps);
}
inline Plan gpipe_of(int stages, int micro_batches, int batch) {
  Case spec = case_of("gpipe", stages, batch);
  spec.micro = micro_batches;
  return plan_of(spec, stages);
}
/// 1f1b, dapple: one layer per stage.
inline Plan pipeline_of(const std::string& strategy, int stages, int micro_batches, int batch) {
  Case spec = case_of(strategy, stages, batch);
  spec.micro = micro_batches;
  return plan_of(spec, stages);
}
inline Plan pipedream_of(int stages, int steps) { return plan_of(case_of("pipedream", stages, 2), stages, steps); }

struct UnitCosts {
  double forward = 1, backward = 2;  ///< of a stage and micro-batch
  double message = 0, reduction = 0, update = 0;
  double of(const Plan& plan, Rank rank, const Op& op) const {
    const SegmentRange stage = segments_of(plan, plan.ranks[rank.value].stage);
    const int segments = stage.last.value - stage.first.value + 1;
    switch (op.kind) {
      case OpKind::forward: return forward / segments;
      case OpKind::backward: return backward / segments;
      case OpKind::update: return update;
      case OpKind::all_reduce: return reduction;
      case OpKind::send_forward:
      case OpKind::recv_forward:
      case OpKind::send_backward:
      case OpKind::recv_backward: return message;
    }
    return 0;
  }
};

/// Earliest times of every operation: messages start when both ends are ready, reductions when all ranks are.
inline Timeline timeline_of(const Plan& plan, const UnitCosts& costs = {}) {
  std::vector<LocalDependencies> local;
  Timeline timeline;
  for (int r = 0; r < static_cast<int>(plan.ranks.size()); ++r) {
    local.push_back(dependencies(plan, Rank(r)));
    auto& lanes = timeline.ranks.emplace_back();
    for (Lane lane : all_lanes) lanes[static_cast<int>(lane)].resize(plan.ranks[r].lane(lane).size());
  }
  const Matching matching = match(plan);
  const auto span = [&](OpRef ref) -> Span& {
    return timeline.ranks[ref.rank.value][static_cast<int>(ref.lane)][ref.index];
  };
  const auto earliest = [&](OpRef ref) {
    double start = ref.index > 0 ? span({ref.rank, ref.lane, ref.index - 1}).end : 0.0;
    span(ref).queued = start;
    for (OpRef before : local[ref.rank.value][static_cast<int>(ref.lane)][ref.index]) {
      start = std::max(start, span(before).end);
    }
    return start;
  };
  for (OpRef ref : run_lanes(plan, local, matching, Delivery::rendezvous).order) {
    double start = earliest(ref);
    for (OpRef partner : matching.partners[ref.rank.value][static_cast<int>(ref.lane)][ref.index]) {
      start = std::max(start, earliest(partner));
    }
    span(ref).start = start;
    span(ref).end = start + costs.of(plan, ref.rank, at(plan, ref));
  }
  return timeline;
}

/// A random plan of a random strategy; synchronous ones unrolled to a few steps.
inline Plan random_plan(std::mt19937& random) {
  const auto from = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const auto names = strategy_names();
  const std::string name = names[from(0, static_cast<int>(names.size()) - 1)];
  const int np = name == "sequential" ? 1 : from(1, 5), layers = np + from(0, 4);
  Case spec = case_of(name, np, 0);
  const bool cuts_batch = find_strategy(name).uses("micro");
  if (cuts_batch) spec.micro = from(1, 6);
  if (name == "data-parallel") spec.bucket = Bytes(from(1, 1000));
  const int pieces = cuts_batch ? spec.micro : name == "data-parallel" ? np : 1;
  spec.batch = pieces + from(0, 9);
  const int steps = from(1, 3);
  if (name == "pipedream") return plan_of(spec, layers, from(1, 8));
  return unroll(plan_of(spec, layers), steps);
}

}  // namespace parabench
