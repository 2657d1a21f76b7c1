#include "models/torch/layer.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <cmath>
#include <utility>

#include "base/random.h"
#include "models/torch/split_operations.h"

namespace parabench {
namespace {

constexpr double eps = 1e-5, momentum = 0.1;

/// Hands out a layer's tensors in registration order while its steps run.
struct Cursor {
  const ForwardMode& mode;
  const torch::Tensor* parameter;
  const torch::Tensor* buffer;
};

torch::Tensor apply(const Conv2d& op, Cursor& next, const torch::Tensor& x, bool) {
  const torch::Tensor& weight = *next.parameter++;
  if (next.mode.deferred) return split_conv2d(op, x, weight, *next.mode.deferred);
  return at::conv2d(x, weight, {}, op.stride, op.padding);
}

torch::Tensor apply(const BatchNorm&, Cursor& next, const torch::Tensor& x, bool) {
  const torch::Tensor &weight = *next.parameter++, &bias = *next.parameter++;
  torch::Tensor mean = *next.buffer++, variance = *next.buffer++;
  if (!next.mode.update_statistics) mean = variance = torch::Tensor();
  if (next.mode.deferred) return split_batch_norm(x, weight, bias, mean, variance, momentum, eps, *next.mode.deferred);
  return at::batch_norm(x, weight, bias, mean, variance, /*training=*/true, momentum, eps, /*cudnn_enabled=*/true);
}

/// In the type of the parameters, also under autocast: on CUDA it has no other, and statistics in bf16 would be coarse.
torch::Tensor apply(const LayerNorm&, Cursor& next, const torch::Tensor& x, bool) {
  const torch::Tensor &weight = *next.parameter++, &bias = *next.parameter++;
  const torch::Tensor wide = x.to(weight.scalar_type());
  const at::IntArrayRef features = x.sizes().slice(1);
  const torch::Tensor y = next.mode.deferred
                              ? split_layer_norm(wide, weight, bias, eps, *next.mode.deferred)
                              : at::layer_norm(wide, features, weight.view(features), bias.view(features), eps);
  return y.to(x.scalar_type());
}

torch::Tensor apply(const Relu&, Cursor&, torch::Tensor x, bool is_input) {
  return is_input ? at::relu(x) : at::relu_(x);
}

torch::Tensor apply(const MaxPool& op, Cursor&, const torch::Tensor& x, bool) {
  return at::max_pool2d(x, op.kernel, op.stride, op.padding);
}

torch::Tensor apply(const GlobalAveragePool&, Cursor&, const torch::Tensor& x, bool) { return at::mean(x, {2, 3}); }

torch::Tensor apply(const Linear&, Cursor& next, const torch::Tensor& x, bool) {
  const torch::Tensor &weight = *next.parameter++, &bias = *next.parameter++;
  const torch::Tensor rows = x.flatten(1);
  const torch::Tensor y =
      next.mode.deferred ? split_linear(rows, weight, bias, *next.mode.deferred) : at::linear(rows, weight, bias);
  // A map stays a map, as a neighbouring rank expects it; no view, which ReLU could not write into at the same cost.
  return x.dim() == 4 ? at::_unsafe_view(y, {y.size(0), y.size(1), 1, 1}) : y;
}

torch::Tensor run(const std::vector<Step>& steps, Cursor& next, const torch::Tensor& x) {
  torch::Tensor y = x;
  for (const Step& step : steps)
    y = std::visit([&](const auto& op) { return apply(op, next, y, y.is_same(x)); }, step.operation);
  return y;
}

struct Distribution {
  enum Kind { constant, normal, uniform } kind;
  double scale;  ///< value, standard deviation, bound
};

std::vector<Distribution> distributions_of(const Conv2d& op) {
  return {{Distribution::normal, std::sqrt(2.0 / (1.0 * op.out * op.kernel * op.kernel))}};
}
std::vector<Distribution> distributions_of(const BatchNorm&) {
  return {{Distribution::constant, 1}, {Distribution::constant, 0}};
}
std::vector<Distribution> distributions_of(const LayerNorm&) {
  return {{Distribution::constant, 1}, {Distribution::constant, 0}};
}
std::vector<Distribution> distributions_of(const Linear& op) {
  return std::vector<Distribution>(2, {Distribution::uniform, 1 / std::sqrt(1.0 * op.in)});
}
std::vector<Distribution> distributions_of(const Relu&) { return {}; }
std::vector<Distribution> distributions_of(const MaxPool&) { return {}; }
std::vector<Distribution> distributions_of(const GlobalAveragePool&) { return {}; }

/// Of each parameter, in registration order.
std::vector<Distribution> distributions(const LayerSpec& layer) {
  std::vector<Distribution> all;
  for (const auto* steps : {&layer.body, &layer.shortcut})
    for (const Step& step : *steps)
      for (const Distribution& d : std::visit([](const auto& op) { return distributions_of(op); }, step.operation))
        all.push_back(d);
  return all;
}

}  // namespace

torch::Tensor forward(const LayerSpec& layer, const LayerTensors& tensors, const torch::Tensor& x,
                      const ForwardMode& mode) {
  Cursor next{mode, tensors.parameters.data(), tensors.buffers.data()};
  torch::Tensor y = run(layer.body, next, x);
  if (!layer.residual) return y;
  y.add_(run(layer.shortcut, next, x));
  return y.relu_();
}

void initialise(const LayerSpec& layer, std::size_t parameter, std::uint64_t seed, std::span<double> out) {
  const TensorSpec tensor = parameters(layer).at(parameter);
  const Distribution distribution = distributions(layer).at(parameter);
  const std::uint64_t stream = hash_name(tensor.name);
  const auto draw = [&](std::int64_t element) -> double {
    const auto index = static_cast<std::uint64_t>(element);
    switch (distribution.kind) {
      case Distribution::constant: return distribution.scale;
      case Distribution::normal: return distribution.scale * counter_normal(seed, stream, index);
      case Distribution::uniform: return distribution.scale * (2 * counter_uniform(seed, stream, index) - 1);
    }
    return 0;
  };
  at::parallel_for(0, std::ssize(out), at::internal::GRAIN_SIZE, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t element = begin; element < end; ++element) out[element] = draw(element);
  });
}

LayerTensors allocate_tensors(const LayerSpec& layer, torch::ScalarType type) {
  LayerTensors tensors;
  for (const TensorSpec& tensor : parameters(layer))
    tensors.parameters.push_back(torch::zeros(tensor.shape, torch::dtype(type).requires_grad(true)));
  for (const TensorSpec& tensor : buffers(layer))
    tensors.buffers.push_back(torch::full(tensor.shape, tensor.name.ends_with("var") ? 1 : 0, torch::dtype(type)));
  return tensors;
}

}  // namespace parabench
