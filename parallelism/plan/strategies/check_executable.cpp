#include "parallelism/plan/strategies/check_executable.h"

#include <string>

#include "base/called.h"
#include "base/case_text.h"
#include "base/error.h"
#include "parallelism/plan/passes/statistics.h"
#include "parallelism/plan/skip_ports.h"
#include "parallelism/plan/strategies/local_sgd.h"
#include "parallelism/plan/strategies/parameter_server.h"
#include "parallelism/plan/ties.h"

namespace parabench::plan {

void check_executable(const Plan& plan, const models::ModelSpec& model) {
  const std::string another = "write the plan file with " + to_type("plan CASE --format json");
  const Segment& last = plan.segments.back();
  if (const int layers = last.first_layer + last.layers; layers != std::ssize(model.layers))
    throw usage_error("plan", std::to_string(layers) + " layers",
                      std::to_string(model.layers.size()) + " as " + model.name + " has");
  if (plan.tie != tied_segments(plan, model))
    throw usage_error("plan", plan.tie ? "a tied tensor" : "no tied tensor", "what " + model.name + " ties", another);
  const std::string hint = "emulated devices run it: device:emulated";
  if (plan.shards != 1) throw usage_error("plan", std::to_string(plan.shards) + " shards", "stages in one piece", hint);
  const Serving by = serving(plan.spec);
  if (plan.averaging != averaging(plan.spec) || std::ssize(plan.servers) != by.servers ||
      served_in_shares(plan) != by.in_shares() || plan.taken != by.taken(plan.replicas))
    throw usage_error("plan", "averages or servers", "what " + to_text(plan.spec.strategy) + " says", another);
  for (const RankProgram& rank : plan.ranks) {
    if (plan.averaging.every > 0 && rank.weight_versions > 1)
      throw usage_error("plan", std::to_string(rank.weight_versions) + " versions of the weights",
                        "one where weights are averaged", hint);
    for (const Lane& lane : rank.lanes) {
      for (const Op& op : lane.ops) {
        const bool runs = (!is_of_micro_batch(op.payload) || sums_statistics(plan, op)) && op.kind != OpKind::broadcast;
        if (is_collective(op.kind) && !runs)
          throw usage_error(
              "plan", to_text(op),
              "no other collective than sums of gradients, norms, parameters and statistics and gathers of parameters",
              hint);
        if (op.kind == OpKind::update && op.group.value >= 0 && rank.weight_versions > 1)
          throw usage_error(
              "plan",
              to_text(op) + " in shares with " + std::to_string(rank.weight_versions) + " versions of the weights",
              "one version where updates are shared", hint);
      }
    }
  }
  if (const auto skips = skip_ports(plan.segments, model); plan.skips != skips)
    throw usage_error("plan", std::to_string(plan.skips.size()) + " tensors that skip segments",
                      "the " + std::to_string(skips.size()) + " of " + model.name + " cut into the plan's segments",
                      another);
  if (plan.statistics != statistics_segments(plan.segments, model))
    throw usage_error("plan", std::to_string(plan.statistics.size()) + " segments that end with statistics",
                      "those of " + model.name + " with its batch norms summed as the case says", another);
}

}  // namespace parabench::plan
