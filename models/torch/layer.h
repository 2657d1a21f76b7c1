// Layers that compute: a LayerSpec with torch tensors.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "models/spec/layer.h"

namespace parabench {

/// The tensors of one layer in registration order (models/spec: parameters(), buffers()).
struct LayerTensors {
  std::vector<torch::Tensor> parameters;  ///< leaves that require grad
  std::vector<torch::Tensor> buffers;     ///< running_mean, running_var of each batch norm
};

/// y = layer(x) in training mode: batch statistics normalise, running statistics are updated once. Never writes into x.
torch::Tensor forward(const LayerSpec& layer, const LayerTensors& tensors, const torch::Tensor& x);

/// Values of parameter `name`, element by element, from a counter-based generator keyed by (seed, name, element): any
/// placement starts equal. Convolutions kaiming normal (fan out, ReLU), batch norm 1 / 0, linear uniform
/// +-1/sqrt(fan in), as torchvision initialises ResNets. `out`: elements() values.
void initialise(const LayerSpec& layer, std::size_t parameter, std::uint64_t seed, std::span<double> out);

/// Fresh tensors of the layer on the CPU: zeros for parameters (not yet initialised), running mean 0, variance 1.
LayerTensors allocate_tensors(const LayerSpec& layer, torch::ScalarType type);

}  // namespace parabench
