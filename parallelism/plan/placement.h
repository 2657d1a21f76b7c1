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

enum class Grain {
  stage,  ///< one segment per stage
  layer,  ///< one segment per layer, so that what happens between layers can overlap
};

/// `stages` stages cut by the case's partition rule, np ranks that hold nothing yet, and the batch cut into
/// `micro_batches` pieces for each of `replicas`. Throws usage_error for partition:time without a time for each layer.
Plan cut_model(const StrategyInput& input, int stages, Grain grain, int replicas, int micro_batches);

/// Gradient bytes of each segment.
std::vector<Bytes> gradient_bytes(const Plan& plan, const ModelSpec& model);

/// Appends a pass of every segment of a stage to the rank's compute lane: forwards in layer order, others in reverse.
void pass_stage(const Plan& plan, RankProgram& rank, OpKind kind, StageId stage, MicroBatchId m, int step, int version);

}  // namespace parabench
