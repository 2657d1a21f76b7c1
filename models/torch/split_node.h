// Operations with parameters whose backward comes in two parts: it computes the gradient of the input and leaves those
// of the parameters to a WeightGradients (Qi et al. 2023, arXiv 2401.10241: B and W of zero-bubble pipelines).
#pragma once

#include <torch/types.h>

#include <functional>
#include <vector>

#include "models/torch/weight_gradients.h"

namespace parabench::modules {

/// Gradient of the input from that of the output and what forward saved; undefined where it is not needed.
using InputBackward =
    std::function<torch::Tensor(const torch::Tensor& gradient, const std::vector<torch::Tensor>& saved, bool needed)>;

/// Puts the operation that made `output` from `x`, with gradients off, into the graph. Its node has an edge to `x`
/// only: autograd does not see the parameters, whose gradients are not there when it ends. Backward comes to it also
/// where `x` needs no gradient.
torch::Tensor record_split(torch::Tensor output, const torch::Tensor& x, const std::vector<torch::Tensor>& saved,
                           InputBackward backward);

/// In the type in which autocast computes matrix products, where it is on; undefined stays undefined.
torch::Tensor as_autocast(const torch::Tensor& tensor);

/// A gradient that its kernel has computed already, with that of the input.
DeferredGradient computed_gradient(const torch::Tensor& parameter, torch::Tensor gradient);

}  // namespace parabench::modules
