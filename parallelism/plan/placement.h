// Where layers live: the empty plans that strategies fill, and the actions of a whole stage they fill them with.
#pragma once

#include <span>

#include "models/spec/model.h"
#include "parallelism/plan/plan.h"

namespace parabench {

/// What a strategy writes its plan from.
struct StrategyInput {
  const Case& spec;
  const ModelSpec& model;
  std::span<const double> layer_seconds;  ///< forward + backward of each layer, for partition:time
  int steps = 1;                          ///< window of an asynchronous strategy
};

/// One stage of one segment per layer, on `replicas` ranks that share the batch.
Plan one_segment_per_layer(const StrategyInput& input, int replicas);
/// np stages of one segment each, cut by the case's partition rule. Throws usage_error for partition:time without a
/// time for each layer.
Plan one_segment_per_stage(const StrategyInput& input, int micro_batches);

/// Appends the forwards (in layer order) or the backwards (in reverse order) of the rank's stage to its compute lane.
void forward_stage(const Plan& plan, RankProgram& rank, MicroBatchId m, int step, int version);
void backward_stage(const Plan& plan, RankProgram& rank, MicroBatchId m, int step, int version);

}  // namespace parabench
