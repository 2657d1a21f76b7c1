#include "models/torch/layer.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <utility>

#include "base/random.h"
#include "models/torch/operations/attention.h"
#include "models/torch/operations/conv2d.h"
#include "models/torch/operations/dropout.h"
#include "models/torch/operations/elementwise.h"
#include "models/torch/operations/linear.h"
#include "models/torch/operations/norms.h"
#include "models/torch/operations/pools.h"
#include "models/torch/operations/synchronised_norm.h"
#include "models/torch/operations/tables.h"

namespace parabench::modules {

torch::Tensor forward(const models::LayerSpec& layer, const LayerTensors& tensors, const torch::Tensor& x, Ports& ports,
                      const ForwardMode& mode) {
  std::vector<torch::Tensor> inputs{x};
  for (const models::TakenPort& taken : layer.takes) inputs.push_back(std::move(ports.extract(taken.port).mapped()));
  const std::vector<int> overwritten = models::overwritten_inputs(layer);
  std::vector<int> readers_left = models::readers(layer);
  std::vector<torch::Tensor> values(layer.nodes.size()), read;
  const auto at = [&](int value) -> torch::Tensor& { return value < 0 ? inputs[-1 - value] : values[value]; };
  std::size_t parameter = 0, buffer = 0;
  for (std::size_t i = 0; i < layer.nodes.size(); ++i) {
    const models::Node& node = layer.nodes[i];
    read.clear();
    for (const int value : node.inputs) {
      read.push_back(at(value));
      if (value >= 0 && --readers_left[value] == 0) values[value].reset();
    }
    const std::size_t own_parameters = models::parameters(node.operation, {}).size();
    const std::size_t own_buffers = models::buffers(node.operation, {}).size();
    const Call call{node.name,
                    read,
                    std::span(tensors.parameters).subspan(parameter, own_parameters),
                    std::span(tensors.buffers).subspan(buffer, own_buffers),
                    mode,
                    overwritten[i]};
    values[i] = std::visit([&](const auto& op) { return compute(op, call); }, node.operation);
    parameter += own_parameters;
    buffer += own_buffers;
  }
  for (const models::MadePort& made : layer.makes) ports.insert_or_assign(made.port, at(made.value));
  return values.back();
}

torch::Tensor forward(const models::LayerSpec& layer, const LayerTensors& tensors, const torch::Tensor& x,
                      const ForwardMode& mode) {
  Ports none;
  return forward(layer, tensors, x, none, mode);
}

void initialise(const models::LayerSpec& layer, std::size_t parameter, std::uint64_t seed, std::int64_t first,
                std::span<double> out) {
  const models::ParameterSpec tensor = models::parameters(layer).at(parameter);
  const auto [kind, scale] = tensor.initial;
  const std::uint64_t stream = hash_name(tensor.name);
  const auto draw = [&, kind = kind, scale = scale](std::int64_t element) -> double {
    const auto index = static_cast<std::uint64_t>(element);
    switch (kind) {
      case models::Initial::constant: return scale;
      case models::Initial::normal: return scale * counter_normal(seed, stream, index);
      case models::Initial::uniform: return scale * (2 * counter_uniform(seed, stream, index) - 1);
    }
    return 0;
  };
  at::parallel_for(0, std::ssize(out), at::internal::GRAIN_SIZE, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = draw(first + i);
  });
}

std::vector<torch::Tensor> allocate_buffers(const models::LayerSpec& layer, torch::ScalarType type) {
  std::vector<torch::Tensor> buffers;
  for (const models::ParameterSpec& tensor : models::buffers(layer))
    buffers.push_back(torch::full(tensor.shape, tensor.initial.scale, torch::dtype(type)));
  return buffers;
}

LayerTensors allocate_tensors(const models::LayerSpec& layer, torch::ScalarType type) {
  LayerTensors tensors{.parameters = {}, .buffers = allocate_buffers(layer, type)};
  for (const models::ParameterSpec& tensor : models::parameters(layer))
    tensors.parameters.push_back(torch::zeros(tensor.shape, torch::dtype(type).requires_grad(true)));
  return tensors;
}

}  // namespace parabench::modules
