#include <ATen/ATen.h>

#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "models/torch/operations/compute.h"
#include "models/torch/split_node.h"

namespace parabench {
namespace {

using Tensors = std::vector<torch::Tensor>;

torch::Tensor convolve(const Conv2d& op, const torch::Tensor& x, const torch::Tensor& weight,
                       const torch::Tensor& bias) {
  return at::conv2d(x, weight, bias, op.stride, {op.padding.height, op.padding.width}, /*dilation=*/1, op.groups);
}

auto convolve_backward(const Conv2d& op, const torch::Tensor& gradient, const torch::Tensor& x,
                       const torch::Tensor& weight, std::array<bool, 3> mask) {
  const std::array<std::int64_t, 1> bias_sizes{op.out};
  return at::convolution_backward(gradient, x, weight,
                                  op.bias ? at::OptionalIntArrayRef(bias_sizes) : at::OptionalIntArrayRef(),
                                  {op.stride, op.stride}, {op.padding.height, op.padding.width}, /*dilation=*/{1, 1},
                                  /*transposed=*/false, /*output_padding=*/{0, 0}, op.groups, mask);
}

torch::Tensor split(const Conv2d& op, const torch::Tensor& input, const torch::Tensor& parameter,
                    const torch::Tensor& bias, WeightGradients& later) {
  // Of the weight only its shape, type and layout are looked at.
  const auto part = [op](int output) {
    return [op, output](const torch::Tensor& like, const Tensors& kept) {
      std::array<bool, 3> mask{};
      mask[output] = true;
      auto [dx, dweight, dbias] = convolve_backward(op, kept[1], kept[0], like, mask);
      return output == 1 ? dweight : dbias;
    };
  };
  const auto weight_gradient = [part](const torch::Tensor& weight, Tensors kept) {
    return part(1)(at::empty_like(weight, kept[0].options()), kept);
  };
  const auto bias_gradient = [part, parameter](const torch::Tensor&, Tensors kept) {
    return part(2)(at::empty_like(parameter, kept[0].options()), kept);
  };
  const torch::Tensor x = as_autocast(input), weight = as_autocast(parameter).detach();
  torch::Tensor y;
  {
    const torch::NoGradGuard no_grad;
    y = convolve(op, x, weight, as_autocast(bias));
  }
  return record_split(std::move(y), x, {x, weight},
                      [=, &later](const torch::Tensor& gradient, const Tensors& saved, bool needed) {
                        torch::Tensor dx;
                        if (needed)
                          dx = std::get<0>(convolve_backward(op, gradient, saved[0], saved[1], {true, false, false}));
                        later.defer({parameter, {saved[0].detach(), gradient}, weight_gradient});
                        if (bias.defined()) later.defer({bias, {saved[0].detach(), gradient}, bias_gradient});
                        return dx;
                      });
}

}  // namespace

torch::Tensor compute(const Conv2d& op, const Call& call) {
  const torch::Tensor& weight = call.parameters[0];
  const torch::Tensor bias = op.bias ? call.parameters[1] : torch::Tensor();
  if (call.mode.deferred) return split(op, call.x(), weight, bias, *call.mode.deferred);
  return convolve(op, call.x(), weight, bias);
}

}  // namespace parabench
