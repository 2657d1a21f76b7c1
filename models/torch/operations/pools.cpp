#include "models/torch/operations/pools.h"

#include <ATen/ATen.h>

namespace parabench::modules {

torch::Tensor compute(const models::MaxPool& op, const Call& call) {
  return at::max_pool2d(call.x(), op.kernel, op.stride, op.padding);
}

torch::Tensor compute(const models::GlobalAveragePool&, const Call& call) {
  return call.x().dim() == 4 ? at::mean(call.x(), {2, 3}) : call.x().clone();
}

torch::Tensor compute(const models::AveragePool& op, const Call& call) {
  return at::avg_pool2d(call.x(), op.kernel, op.stride, op.padding, /*ceil_mode=*/false, /*count_include_pad=*/false);
}

torch::Tensor compute(const models::AdaptiveAveragePool& op, const Call& call) {
  return at::adaptive_avg_pool2d(call.x(), {op.side, op.side});
}

}  // namespace parabench::modules
