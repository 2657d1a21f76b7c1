#include "models/torch/loss.h"

#include <ATen/ops/cross_entropy_loss.h>

namespace parabench::modules {

torch::Tensor cross_entropy(const torch::Tensor& output, const torch::Tensor& labels, double batch) {
  const std::int64_t positions = labels.numel() / labels.size(0);
  const bool sequence = output.dim() == 3;  // its classes come last, ATen wants them second
  const torch::Tensor sum = at::cross_entropy_loss(sequence ? output.flatten(0, 1) : output,
                                                   sequence ? labels.flatten() : labels, {}, at::Reduction::Sum);
  return sum / (batch * static_cast<double>(positions));
}

}  // namespace parabench::modules
