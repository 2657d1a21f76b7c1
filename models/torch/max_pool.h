// Max pooling without branches.
#pragma once

#include <torch/types.h>

#include "models/spec/layer.h"

namespace parabench {

/// at::max_pool2d's values, ties, NaNs, saved tensors and gradients. On plain contiguous maps the search of each window
/// is free of branches: they are mispredicted on real data, and the library's loop costs as much as a convolution.
torch::Tensor max_pool(const MaxPool& op, const torch::Tensor& x);

}  // namespace parabench
