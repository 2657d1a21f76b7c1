// Convolution of small maps as one matrix product.
#pragma once

#include <torch/types.h>

#include "models/spec/layer.h"

namespace parabench {

/// Whether small_convolution computes `op` on `x`: plain fp32 or fp64 in contiguous layout with few output positions,
/// where the library's convolution spends its time on reordering weights.
bool is_small_convolution(const Conv2d& op, const torch::Tensor& x, const torch::Tensor& weight);

/// y = conv(x, weight) over unfolded windows; over one pixel without the taps that meet padding alone. Saves x.
/// Backward adds the weight's gradient straight into weight.grad() where that exists (gradient accumulation fusion, as
/// in Megatron-LM), so it must be read from .grad(), not from torch::autograd::grad.
torch::Tensor small_convolution(const Conv2d& op, const torch::Tensor& x, const torch::Tensor& weight);

}  // namespace parabench
