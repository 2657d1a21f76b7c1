// The loss that networks train by.
#pragma once

#include <torch/types.h>

namespace parabench::modules {

/// Cross entropy of every position, by models/spec/loss.h: of outputs N x classes, N x length x classes or N x classes
/// x height x width, with labels N, N x length or N x height x width. The sum over samples and mean over a sample's
/// positions, divided by `batch`: a piece's share of the mean over the batch. A scalar in the outputs' type.
torch::Tensor cross_entropy(const torch::Tensor& output, const torch::Tensor& labels, double batch);

}  // namespace parabench::modules
