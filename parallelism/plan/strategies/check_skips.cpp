#include "parallelism/plan/strategies/check_skips.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "models/spec/skips.h"
#include "parallelism/plan/owners.h"

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

}  // namespace parabench
