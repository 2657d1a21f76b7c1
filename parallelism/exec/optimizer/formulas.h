// Optimizers as their papers write them, for the reference that every strategy must equal.
#pragma once

#include <torch/types.h>

#include "base/optimizer.h"

namespace parabench::exec {

/// What an optimizer remembers of one parameter tensor; empty before the first update.
struct OptimizerHistory {
  torch::Tensor first, second;  ///< momentum, or first and second moment
  int updates = 0;
};

/// The next weights, as a new tensor, by the formulas of OptimizerRule term by term. It shares no code with the kernels
/// that it is to check.
torch::Tensor next_weights(const OptimizerRule& rule, const torch::Tensor& weights, const torch::Tensor& gradient,
                           OptimizerHistory& history);

}  // namespace parabench::exec
