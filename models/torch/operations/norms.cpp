#include "models/torch/operations/norms.h"

#include <ATen/ATen.h>

#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "models/torch/split_node.h"

namespace parabench::modules {
namespace {

using Tensors = std::vector<torch::Tensor>;

constexpr double eps = 1e-5;  // of layer and group norm
using models::BatchNorm;

/// Undefined running statistics are not updated.
torch::Tensor split_batch_norm(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                               const torch::Tensor& running_mean, const torch::Tensor& running_variance,
                               WeightGradients& later) {
  torch::Tensor y, mean, deviation, reserve;
  std::int64_t implementation = 0;  // ATen's own, cuDNN's: each has a backward of its own
  {
    const torch::NoGradGuard no_grad;
    std::tie(y, mean, deviation, reserve, implementation) =
        at::_batch_norm_impl_index(x, weight, bias, running_mean, running_variance, /*training=*/true,
                                   BatchNorm::momentum, BatchNorm::eps, /*cudnn_enabled=*/true);
  }
  return record_split(std::move(y), x, {x, weight, mean, deviation, reserve},
                      [=, &later](const torch::Tensor& gradient, const Tensors& saved, bool needed) {
                        auto [dx, dweight, dbias] = at::_batch_norm_impl_index_backward(
                            implementation, saved[0], gradient, saved[1], {}, {}, saved[2], saved[3], /*train=*/true,
                            BatchNorm::eps, {needed, true, true}, saved[4]);
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

/// The layout that ATen's kernels take: on CUDA no other.
at::MemoryFormat group_norm_format(const torch::Tensor& x) {
  return x.is_cpu() ? x.suggest_memory_format() : at::MemoryFormat::Contiguous;
}

/// `x` has the type of the parameters, in that layout.
torch::Tensor split_group_norm(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                               int groups, WeightGradients& later) {
  const std::int64_t samples = x.size(0), channels = x.size(1), pixels = x.size(2) * x.size(3);
  torch::Tensor y, mean, deviation;
  {
    const torch::NoGradGuard no_grad;
    std::tie(y, mean, deviation) = at::native_group_norm(x, weight, bias, samples, channels, pixels, groups, eps);
  }
  return record_split(std::move(y), x, {x, weight, mean, deviation},
                      [=, &later](const torch::Tensor& gradient, const Tensors& saved, bool needed) {
                        auto [dx, dweight, dbias] = at::native_group_norm_backward(
                            gradient.contiguous(group_norm_format(saved[0])), saved[0], saved[2], saved[3], saved[1],
                            samples, channels, pixels, groups, {needed, true, true});
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
  return at::batch_norm(call.x(), weight, bias, mean, variance, /*training=*/true, BatchNorm::momentum, BatchNorm::eps,
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

/// With weights in their type, as layer norm. Without, the instance norm of a map that has a channel for each group.
torch::Tensor compute(const models::GroupNorm& op, const Call& call) {
  const torch::Tensor& x = call.x();
  if (!op.affine) {
    const torch::Tensor groups = x.contiguous().view({x.size(0), op.groups, -1, x.size(3)});
    return at::instance_norm(groups, {}, {}, {}, {}, /*use_input_stats=*/true, /*momentum=*/0, eps,
                             /*cudnn_enabled=*/true)
        .view(x.sizes());
  }
  const torch::Tensor &weight = call.parameters[0], &bias = call.parameters[1];
  const torch::Tensor wide = x.to(weight.scalar_type()).contiguous(group_norm_format(x));
  const torch::Tensor y = call.mode.deferred ? split_group_norm(wide, weight, bias, op.groups, *call.mode.deferred)
                                             : at::group_norm(wide, op.groups, weight, bias, eps);
  return y.to(x.scalar_type());
}

}  // namespace parabench::modules
