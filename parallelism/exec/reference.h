// Training on one rank, piece after piece: what every strategy must equal.
#pragma once

#include <memory>
#include <vector>

#include "datasets/source.h"
#include "models/spec/model.h"
#include "models/torch/layer.h"
#include "parallelism/exec/input.h"
#include "parallelism/plan/plan.h"

namespace parabench {

/// Parameters and statistics of all layers, as fp64: [layer][tensor].
struct ReferenceState {
  std::vector<std::vector<torch::Tensor>> initial, parameters;
  std::vector<std::vector<std::vector<torch::Tensor>>> buffers;  ///< [rank][layer][tensor]
  std::vector<double> losses;                                    ///< mean loss of each step
};

/// Trains `steps` steps of the plan's case one piece after the other, without lanes, arenas or messages. Every
/// replica's every micro-batch of a step passes through the whole model; batch norm normalises per piece, and
/// each rank has running statistics of its own; a piece's mean gradient counts n_piece / N. Then plain SGD
/// with momentum, tensor by tensor. Each step sees each stage at the version that its strategy's definition names
/// (delay_rules.h), not at the one that the plan claims, and the gradients of an update's steps are summed: PipeDream
/// with weight stashing (SOSP'19) and 2BW (ICML'21) update with a delay. `plan` has at least `steps` steps.
ReferenceState train_reference(const Plan& plan, const ModelSpec& model, int steps,
                               std::shared_ptr<const SampleSource> source, const InputOptions& options);

}  // namespace parabench
