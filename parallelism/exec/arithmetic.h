// Finds out which precision a device really multiplies in: by multiplying.
#pragma once

#include <torch/types.h>

#include <functional>

#include "base/arithmetic.h"
#include "parallelism/exec/device.h"

namespace parabench::exec {

using Product = std::function<torch::Tensor(const torch::Tensor& left, const torch::Tensor& right)>;

/// The precision whose significand `product` keeps of its factors, two matrices of 256 x 256 made with `options`: bf16
/// (fewer than 10 bits), tf32 (10), fp32 (23) or fp64 (52). Multiplies numbers 1 + 2^-k by 1 and looks for the largest
/// k that comes back exactly; switches and types say only what is allowed.
Precision precision_of(const Product& product, const torch::TensorOptions& options);

/// The arithmetic of a rank's plan on its device, under autocast where the case has it: a product of matrices and a
/// convolution of one by one, whose algorithms all add the products as they are. `parameters`: type of the rank's
/// weights, undefined for a stage without any. For the computing thread; allocates and synchronises.
Arithmetic arithmetic_of(const Case& spec, std::optional<torch::ScalarType> parameters, Device& device);

}  // namespace parabench::exec
