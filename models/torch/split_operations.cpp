#include "models/torch/split_operations.h"

#include <ATen/autocast_mode.h>
#include <torch/autograd.h>

#include <array>
#include <functional>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace parabench {
namespace {

using Tensors = std::vector<torch::Tensor>;

/// Gradient of the input from that of the output and what forward saved; undefined where it is not needed.
using InputBackward = std::function<torch::Tensor(const torch::Tensor& gradient, const Tensors& saved, bool needed)>;

/// An operation in the graph. It has an edge to its input only: autograd does not see the parameters, whose gradients
/// are not there when it ends. Backward comes here also where the input needs no gradient.
class SplitNode final : public torch::autograd::Node {
 public:
  SplitNode(const Tensors& saved, InputBackward backward) : backward_(std::move(backward)) {
    for (const torch::Tensor& tensor : saved) saved_.emplace_back(tensor, /*is_output=*/false);
  }

  std::string name() const override { return "parabench::SplitNode"; }

  void release_variables() override {
    const std::lock_guard lock(mutex_);
    saved_.clear();
  }

 private:
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    const std::lock_guard lock(mutex_);
    Tensors saved;
    for (const torch::autograd::SavedVariable& variable : saved_) saved.push_back(variable.unpack());
    return {backward_(gradients[0], saved, task_should_compute_output(0))};
  }

  std::vector<torch::autograd::SavedVariable> saved_;
  InputBackward backward_;
};

/// Puts the operation that made `output` from `x` into the graph.
torch::Tensor record(torch::Tensor output, const torch::Tensor& x, const Tensors& saved, InputBackward backward) {
  auto node = std::make_shared<SplitNode>(saved, std::move(backward));
  node->set_next_edges(torch::autograd::collect_next_edges(x));
  torch::autograd::create_gradient_edge(output, node);
  return output;
}

/// In the type in which autocast computes matrix products, where it is on.
torch::Tensor autocast(const torch::Tensor& tensor) {
  const torch::DeviceType device = tensor.device().type();
  if (!at::autocast::is_autocast_enabled(device)) return tensor;
  return at::autocast::cached_cast(at::autocast::get_autocast_dtype(device), tensor, device);
}

/// A gradient that its kernel has computed already, with that of the input.
DeferredGradient ready(const torch::Tensor& parameter, torch::Tensor gradient) {
  return {parameter, {std::move(gradient)}, [](const torch::Tensor&, Tensors kept) { return std::move(kept[0]); }};
}

}  // namespace

torch::Tensor split_conv2d(const Conv2d& op, const torch::Tensor& input, const torch::Tensor& parameter,
                           WeightGradients& later) {
  const auto backward = [op](const torch::Tensor& gradient, const torch::Tensor& x, const torch::Tensor& weight,
                             std::array<bool, 3> mask) {
    return at::convolution_backward(gradient, x, weight, /*bias_sizes=*/at::OptionalIntArrayRef(),
                                    {op.stride, op.stride}, {op.padding, op.padding}, /*dilation=*/{1, 1},
                                    /*transposed=*/false, /*output_padding=*/{0, 0}, /*groups=*/1, mask);
  };
  const auto weight_gradient = [backward](const torch::Tensor& weight, Tensors kept) {
    // Only its shape, type and layout are looked at.
    const torch::Tensor like = at::empty_like(weight, kept[0].options());
    return std::get<1>(backward(kept[1], kept[0], like, {false, true, false}));
  };
  const torch::Tensor x = autocast(input), weight = autocast(parameter).detach();
  torch::Tensor y;
  {
    const torch::NoGradGuard no_grad;
    y = at::conv2d(x, weight, {}, op.stride, op.padding);
  }
  return record(std::move(y), x, {x, weight},
                [=, &later](const torch::Tensor& gradient, const Tensors& saved, bool needed) {
                  torch::Tensor dx;
                  if (needed) dx = std::get<0>(backward(gradient, saved[0], saved[1], {true, false, false}));
                  later.defer({parameter, {saved[0].detach(), gradient}, weight_gradient});
                  return dx;
                });
}

torch::Tensor split_linear(const torch::Tensor& input, const torch::Tensor& parameter, const torch::Tensor& bias,
                           WeightGradients& later) {
  const torch::Tensor x = autocast(input), weight = autocast(parameter).detach();
  torch::Tensor y;
  {
    const torch::NoGradGuard no_grad;
    y = at::linear(x, weight, autocast(bias));
  }
  return record(std::move(y), x, {x, x.requires_grad() ? weight : torch::Tensor()},
                [=, &later](const torch::Tensor& gradient, const Tensors& saved, bool needed) {
                  torch::Tensor dx;
                  if (needed) dx = gradient.mm(saved[1]);
                  later.defer({parameter, {saved[0].detach(), gradient}, [](const torch::Tensor&, Tensors kept) {
                                 return kept[1].t().mm(kept[0]);
                               }});
                  later.defer({bias, {gradient}, [](const torch::Tensor&, Tensors kept) { return kept[0].sum(0); }});
                  return dx;
                });
}

torch::Tensor split_batch_norm(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                               const torch::Tensor& running_mean, const torch::Tensor& running_variance,
                               double momentum, double eps, WeightGradients& later) {
  torch::Tensor y, mean, deviation, reserve;
  std::int64_t implementation = 0;  // ATen's own, cuDNN's: each has a backward of its own
  {
    const torch::NoGradGuard no_grad;
    std::tie(y, mean, deviation, reserve, implementation) = at::_batch_norm_impl_index(
        x, weight, bias, running_mean, running_variance, /*training=*/true, momentum, eps, /*cudnn_enabled=*/true);
  }
  return record(std::move(y), x, {x, weight, mean, deviation, reserve},
                [=, &later](const torch::Tensor& gradient, const Tensors& saved, bool needed) {
                  auto [dx, dweight, dbias] = at::_batch_norm_impl_index_backward(
                      implementation, saved[0], gradient, saved[1], {}, {}, saved[2], saved[3], /*train=*/true, eps,
                      {needed, true, true}, saved[4]);
                  later.defer(ready(weight, std::move(dweight)));
                  later.defer(ready(bias, std::move(dbias)));
                  return dx;
                });
}

torch::Tensor split_layer_norm(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                               double eps, WeightGradients& later) {
  const std::vector<std::int64_t> features(x.sizes().begin() + 1, x.sizes().end());
  torch::Tensor y, mean, deviation;
  {
    const torch::NoGradGuard no_grad;
    std::tie(y, mean, deviation) = at::native_layer_norm(x, features, weight.view(features), bias.view(features), eps);
  }
  return record(std::move(y), x, {x, weight, bias, mean, deviation},
                [=, &later](const torch::Tensor& gradient, const Tensors& saved, bool needed) {
                  auto [dx, dweight, dbias] = at::native_layer_norm_backward(
                      gradient, saved[0], features, saved[3], saved[4], saved[1].view(features),
                      saved[2].view(features), {needed, true, true});
                  later.defer(ready(weight, dweight.view_as(weight)));
                  later.defer(ready(bias, dbias.view_as(bias)));
                  return dx;
                });
}

}  // namespace parabench
