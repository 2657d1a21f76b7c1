#include "models/torch/operations/conv2d.h"

#include <ATen/ATen.h>

#include <array>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "models/torch/split_node.h"

namespace parabench::modules {
namespace {

using Tensors = std::vector<torch::Tensor>;

torch::Tensor convolve(const models::Conv2d& op, const torch::Tensor& x, const torch::Tensor& weight,
                       const torch::Tensor& bias) {
  return at::conv2d(x, weight, bias, op.stride, {op.padding.height, op.padding.width}, /*dilation=*/1, op.groups);
}

auto convolve_backward(const models::Conv2d& op, const torch::Tensor& gradient, const torch::Tensor& x,
                       const torch::Tensor& weight, std::array<bool, 3> mask) {
  const std::array<std::int64_t, 1> bias_sizes{op.out};
  return at::convolution_backward(gradient, x, weight,
                                  op.bias ? at::OptionalIntArrayRef(bias_sizes) : at::OptionalIntArrayRef(),
                                  {op.stride, op.stride}, {op.padding.height, op.padding.width}, /*dilation=*/{1, 1},
                                  /*transposed=*/false, /*output_padding=*/{0, 0}, op.groups, mask);
}

torch::Tensor split(const models::Conv2d& op, const torch::Tensor& input, const torch::Tensor& parameter,
                    const torch::Tensor& bias, WeightGradients& later) {
  const torch::Tensor x = as_autocast(input), weight = as_autocast(parameter).detach();
  torch::Tensor y;
  {
    const torch::NoGradGuard no_grad;
    y = convolve(op, x, weight, as_autocast(bias));
  }
  return record_split(
      std::move(y), x, {x, weight}, [=, &later](const torch::Tensor& gradient, const Tensors& saved, bool needed) {
        torch::Tensor dx;
        if (needed) dx = std::get<0>(convolve_backward(op, gradient, saved[0], saved[1], {true, false, false}));
        // One kernel makes both gradients of the weight part, whose second one follows at once.
        const auto dbias = std::make_shared<torch::Tensor>();
        later.defer({parameter, {saved[0].detach(), gradient}, [op, dbias](const torch::Tensor& like, Tensors kept) {
                       // Of the weight only its shape, type and layout are looked at.
                       const torch::Tensor any = at::empty_like(like, kept[0].options());
                       auto made = convolve_backward(op, kept[1], kept[0], any, {false, true, op.bias});
                       *dbias = std::move(std::get<2>(made));
                       return std::get<1>(made);
                     }});
        if (op.bias)
          later.defer({bias, {}, [dbias](const torch::Tensor&, const Tensors&) { return std::move(*dbias); }});
        return dx;
      });
}

}  // namespace

torch::Tensor compute(const models::Conv2d& op, const Call& call) {
  const torch::Tensor& weight = call.parameters[0];
  const torch::Tensor bias = op.bias ? call.parameters[1] : torch::Tensor();
  if (call.mode.deferred) return split(op, call.x(), weight, bias, *call.mode.deferred);
  return convolve(op, call.x(), weight, bias);
}

}  // namespace parabench::modules
