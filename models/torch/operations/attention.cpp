#include "models/torch/operations/attention.h"

#include <ATen/ATen.h>

namespace parabench::modules {

torch::Tensor compute(const models::Attention& op, const Call& call) {
  const torch::Tensor& x = call.x();
  const std::int64_t samples = x.size(0), length = x.size(1), features = x.size(2) / 3;
  const auto parts = x.view({samples, length, 3, op.heads, features / op.heads}).permute({2, 0, 3, 1, 4}).unbind(0);
  const torch::Tensor y = at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, op.causal);
  return y.transpose(1, 2).reshape({samples, length, features});
}

}  // namespace parabench::modules
