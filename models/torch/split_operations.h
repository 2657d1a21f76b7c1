// Operations with parameters whose backward comes in two parts: it computes the gradient of the input and leaves those
// of the parameters to a WeightGradients (Qi et al. 2023, arXiv 2401.10241: B and W of zero-bubble pipelines).
#pragma once

#include <torch/types.h>

#include "models/spec/layer.h"
#include "models/torch/weight_gradients.h"

namespace parabench {

/// Each computes what the ATen operation of its name computes, bit for bit, forward and backward, also under autocast.
/// `later` must outlive the backward. Between the two parts a convolution or linear operation keeps its input and the
/// gradient of its output; a norm, whose gradients come out of one kernel, keeps those of its parameters.
torch::Tensor split_conv2d(const Conv2d& op, const torch::Tensor& x, const torch::Tensor& weight,
                           WeightGradients& later);
/// `x`: samples x features.
torch::Tensor split_linear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                           WeightGradients& later);
/// With batch statistics; undefined running statistics are not updated.
torch::Tensor split_batch_norm(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                               const torch::Tensor& running_mean, const torch::Tensor& running_variance,
                               double momentum, double eps, WeightGradients& later);

/// Over all dimensions but the first. `x` has the type of the parameters.
torch::Tensor split_layer_norm(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                               double eps, WeightGradients& later);

}  // namespace parabench
