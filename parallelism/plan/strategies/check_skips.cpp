#include "parallelism/plan/strategies/check_skips.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/error.h"
#include "models/spec/skips.h"
#include "parallelism/plan/owners.h"
#include "parallelism/plan/ties.h"

namespace parabench {

void check_skips(const Plan& plan, const ModelSpec& model) {
  const std::vector<Skip> all = skips(model);
  if (all.empty()) return;
  const PieceOwners owners(plan);
  const auto stage_of_layer = [&](int layer) {
    return std::prev(std::ranges::upper_bound(plan.segments, layer, {}, &Segment::first_layer))->stage;
  };
  for (const Skip& skip : all) {
    const StageId from = stage_of_layer(skip.from_layer), to = stage_of_layer(skip.to_layer);
    for (ReplicaId replica; replica.value < plan.replicas; ++replica)
      for (MicroBatchId m; m.value < micro_batches(plan); ++m)
        if (owners.of({from, replica}, m, StepId(0)) != owners.of({to, replica}, m, StepId(0)))
          throw usage_error("strategy", plan.spec.strategy.name,
                            "for " + model.name + " one that keeps layers " + model.layers[skip.from_layer].name +
                                " and " + model.layers[skip.to_layer].name +
                                ", between which a tensor skips layers, on one rank",
                            "try data-parallel");
  }
}

void check_executable(const Plan& plan, const ModelSpec& model) {
  const Segment& last = plan.segments.back();
  if (const int layers = last.first_layer + last.layers; layers != std::ssize(model.layers))
    throw usage_error("plan", std::to_string(layers) + " layers",
                      std::to_string(model.layers.size()) + " as " + model.name + " has");
  if (plan.tie != tied_segments(plan, model))
    throw usage_error("plan", plan.tie ? "a tied tensor" : "no tied tensor", "what " + model.name + " ties",
                      "write the plan file with parabench plan CASE --format json");
  const std::string hint = "emulated devices run it: device:emulated";
  if (plan.shards != 1) throw usage_error("plan", std::to_string(plan.shards) + " shards", "stages in one piece", hint);
  for (const RankProgram& rank : plan.ranks) {
    for (const Lane& lane : rank.lanes) {
      for (const Op& op : lane.ops) {
        const bool runs = !is_of_micro_batch(op.payload) && op.kind != OpKind::broadcast;
        if (is_collective(op.kind) && !runs)
          throw usage_error("plan", to_text(op),
                            "no other collective than sums of gradients and norms and gathers of parameters", hint);
        if (op.kind == OpKind::update && op.group.value >= 0 && rank.weight_versions > 1)
          throw usage_error(
              "plan",
              to_text(op) + " in shares with " + std::to_string(rank.weight_versions) + " versions of the weights",
              "one version where updates are shared", hint);
      }
    }
  }
  check_skips(plan, model);
}

}  // namespace parabench
