#include <ATen/ATen.h>

#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "models/torch/operations/compute.h"
#include "models/torch/split_node.h"

namespace parabench::modules {
namespace {

using Tensors = std::vector<torch::Tensor>;

constexpr double eps = 1e-5, momentum = 0.1;

/// Undefined running statistics are not updated.
torch::Tensor split_batch_norm(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                               const torch::Tensor& running_mean, const torch::Tensor& running_variance,
                               WeightGradients& later) {
  torch::Tensor y, mean, deviation, reserve;
  std::int64_t implementation = 0;  // ATen's own, cuDNN's: each has a backward of its own
  {
    const torch::NoGradGuard no_grad;
    std::tie(y, mean, deviation, reserve, implementation) = at::_batch_norm_impl_index(
        x, weight, bias, running_mean, running_variance, /*training=*/true, momentum, eps, /*cudnn_enabled=*/true);
  }
  return record_split(std::move(y), x, {x, weight, mean, deviation, reserve},
                      [=, &later](const torch::Tensor& gradient, const Tensors& saved, bool needed) {
                        auto [dx, dweight, dbias] = at::_batch_norm_impl_index_backward(
                            implementation, saved[0], gradient, saved[1], {}, {}, saved[2], saved[3], /*train=*/true,
                            eps, {needed, true, true}, saved[4]);
                        later.defer(computed_gradient(weight, std::move(dweight)));
                        later.defer(computed_gradient(bias, std::move(dbias)));
                        return dx;
                      });
}

/// `x` has the type of the parameters.
torch::Tensor split_layer_norm(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                               WeightGradients& later) {
  const std::array<std::int64_t, 1> features{x.size(-1)};
  torch::Tensor y, mean, deviation;
  {
    const torch::NoGradGuard no_grad;
    std::tie(y, mean, deviation) = at::native_layer_norm(x, features, weight, bias, eps);
  }
  return record_split(std::move(y), x, {x, weight, bias, mean, deviation},
                      [=, &later](const torch::Tensor& gradient, const Tensors& saved, bool needed) {
                        auto [dx, dweight, dbias] = at::native_layer_norm_backward(
                            gradient, saved[0], features, saved[3], saved[4], saved[1], saved[2], {needed, true, true});
                        later.defer(computed_gradient(weight, std::move(dweight)));
                        later.defer(computed_gradient(bias, std::move(dbias)));
                        return dx;
                      });
}

}  // namespace

torch::Tensor compute(const models::BatchNorm&, const Call& call) {
  const torch::Tensor &weight = call.parameters[0], &bias = call.parameters[1];
  torch::Tensor mean = call.buffers[0], variance = call.buffers[1];
  if (!call.mode.update_statistics) mean = variance = torch::Tensor();
  if (call.mode.deferred) return split_batch_norm(call.x(), weight, bias, mean, variance, *call.mode.deferred);
  return at::batch_norm(call.x(), weight, bias, mean, variance, /*training=*/true, momentum, eps,
                        /*cudnn_enabled=*/true);
}

/// In the type of the parameters, also under autocast: on CUDA it has no other, and statistics in bf16 would be coarse.
torch::Tensor compute(const models::LayerNorm&, const Call& call) {
  const torch::Tensor &weight = call.parameters[0], &bias = call.parameters[1];
  const torch::Tensor wide = call.x().to(weight.scalar_type());
  const torch::Tensor y = call.mode.deferred ? split_layer_norm(wide, weight, bias, *call.mode.deferred)
                                             : at::layer_norm(wide, {wide.size(-1)}, weight, bias, eps);
  return y.to(call.x().scalar_type());
}

torch::Tensor compute(const models::InstanceNorm&, const Call& call) {
  return at::instance_norm(call.x(), {}, {}, {}, {}, /*use_input_stats=*/true, /*momentum=*/0, eps,
                           /*cudnn_enabled=*/true);
}

}  // namespace parabench::modules
