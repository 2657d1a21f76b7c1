#include "models/torch/operations/elementwise.h"

#include <ATen/ATen.h>

#include <vector>

namespace parabench::modules {

torch::Tensor compute(const models::Relu&, const Call& call) {
  torch::Tensor x = call.x();
  return call.overwritten == 0 ? at::relu_(x) : at::relu(x);
}

torch::Tensor compute(const models::Add&, const Call& call) {
  torch::Tensor first = call.inputs[0], second = call.inputs[1];
  if (call.overwritten == 0) return first.add_(second);
  return call.overwritten == 1 ? second.add_(first) : first.add(second);
}

torch::Tensor compute(const models::Relu6&, const Call& call) { return at::hardtanh(call.x(), 0, 6); }

torch::Tensor compute(const models::LeakyRelu&, const Call& call) {
  torch::Tensor x = call.x();
  return call.overwritten == 0 ? at::leaky_relu_(x, 0.01) : at::leaky_relu(x, 0.01);
}

torch::Tensor compute(const models::Gelu&, const Call& call) { return at::gelu(call.x(), "tanh"); }

torch::Tensor compute(const models::Concat&, const Call& call) {
  return at::cat(std::vector<torch::Tensor>(call.inputs.begin(), call.inputs.end()), 1);
}

torch::Tensor compute(const models::Upsample& op, const Call& call) {
  const double factor = op.factor;
  return at::upsample_nearest2d(call.x(), at::OptionalIntArrayRef(), std::vector<double>{factor, factor});
}

torch::Tensor compute(const models::Pad& op, const Call& call) {
  return at::constant_pad_nd(call.x(), {op.left, op.right, op.top, op.bottom}, 0);
}

torch::Tensor compute(const models::Flatten&, const Call& call) { return call.x().flatten(1); }

}  // namespace parabench::modules
