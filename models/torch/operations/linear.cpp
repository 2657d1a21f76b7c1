#include "models/torch/operations/linear.h"

#include <ATen/ATen.h>

#include <utility>
#include <vector>

#include "models/torch/split_node.h"

namespace parabench::modules {
namespace {

using Tensors = std::vector<torch::Tensor>;

torch::Tensor split(const torch::Tensor& input, const torch::Tensor& parameter, const torch::Tensor& bias,
                    WeightGradients& later) {
  const torch::Tensor x = as_autocast(input), weight = as_autocast(parameter).detach();
  torch::Tensor y;
  {
    const torch::NoGradGuard no_grad;
    y = at::linear(x, weight, as_autocast(bias));
  }
  return record_split(
      std::move(y), x, {x, x.requires_grad() ? weight : torch::Tensor()},
      [=, &later](const torch::Tensor& gradient, const Tensors& saved, bool needed) {
        torch::Tensor dx;
        if (needed) dx = gradient.mm(saved[1]);
        later.defer({parameter, {saved[0].detach(), gradient}, [](const torch::Tensor&, Tensors kept) {
                       return kept[1].t().mm(kept[0]);
                     }});
        if (bias.defined()) {
          later.defer({bias, {gradient}, [](const torch::Tensor&, Tensors kept) { return kept[0].sum(0); }});
        }
        return dx;
      });
}

}  // namespace

torch::Tensor compute(const models::Linear& op, const Call& call) {
  const torch::Tensor& weight = call.parameters[0];
  const torch::Tensor bias = op.bias ? call.parameters[1] : torch::Tensor();
  const torch::Tensor& x = call.x();
  const torch::Tensor rows = x.dim() == 2 ? x : x.flatten(0, -2);
  const torch::Tensor y =
      call.mode.deferred ? split(rows, weight, bias, *call.mode.deferred) : at::linear(rows, weight, bias);
  if (x.dim() == 2) return y;
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = op.out;
  return at::_unsafe_view(y, sizes);  // no view for autograd, which an operation could not write into at the same cost
}

}  // namespace parabench::modules
