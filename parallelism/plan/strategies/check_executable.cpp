#include "parallelism/plan/strategies/check_executable.h"

#include <string>

#include "base/error.h"
#include "parallelism/plan/skip_ports.h"

namespace parabench {

void check_executable(const Plan& plan, const ModelSpec& model) {
  const Segment& last = plan.segments.back();
  if (const int layers = last.first_layer + last.layers; layers != std::ssize(model.layers))
    throw usage_error("plan", std::to_string(layers) + " layers",
                      std::to_string(model.layers.size()) + " as " + model.name + " has");
  const std::string hint = "emulated devices run it: device:emulated";
  if (plan.shards != 1) throw usage_error("plan", std::to_string(plan.shards) + " shards", "stages in one piece", hint);
  for (const RankProgram& rank : plan.ranks) {
    for (const Lane& lane : rank.lanes) {
      for (const Op& op : lane.ops) {
        const bool sums_gradients = op.kind == OpKind::all_reduce && op.payload == Payload::gradients;
        if (is_collective(op.kind) && !sums_gradients)
          throw usage_error("plan", to_text(op), "no other collective than all-reduces of gradients", hint);
        if (op.kind == OpKind::update && op.group.value >= 0)
          throw usage_error("plan", to_text(op) + " in shares", "updates of whole segments", hint);
      }
    }
  }
  if (plan.skips != skip_ports(plan.segments, model))
    throw usage_error("plan", std::to_string(plan.skips.size()) + " tensors that skip segments",
                      "those of " + model.name + " cut into the plan's segments");
}

}  // namespace parabench
