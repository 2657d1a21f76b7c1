// Layers that compute: a LayerSpec with torch tensors.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/spec/layer.h"
#include "models/torch/forward_mode.h"

namespace parabench::modules {

/// The tensors of one layer in registration order (models/spec: parameters(), buffers()).
struct LayerTensors {
  std::vector<torch::Tensor> parameters;  ///< leaves that require grad
  std::vector<torch::Tensor> buffers;     ///< running_mean, running_var of each batch norm
};

/// Skips on their way, by port.
using Ports = std::map<std::string, torch::Tensor>;

/// y = layer(x) in training mode: batch statistics normalise, running statistics are updated once. Moves what the layer
/// takes out of `ports` and what it makes into it. Never writes into its inputs; holds a value no longer than its last
/// reader, unless backward needs it.
torch::Tensor forward(const models::LayerSpec& layer, const LayerTensors& tensors, const torch::Tensor& x, Ports& ports,
                      const ForwardMode& mode = {});
/// Of a layer without ports.
torch::Tensor forward(const models::LayerSpec& layer, const LayerTensors& tensors, const torch::Tensor& x,
                      const ForwardMode& mode = {});

/// Values of a parameter, element by element from `first` on, from a counter-based generator keyed by (seed, name,
/// element): any placement starts equal, and parts may be drawn one by one. `out`: as many as are left at most.
void initialise(const models::LayerSpec& layer, std::size_t parameter, std::uint64_t seed, std::int64_t first,
                std::span<double> out);

/// Fresh buffers of the layer on the CPU: running mean 0, variance 1.
std::vector<torch::Tensor> allocate_buffers(const models::LayerSpec& layer, torch::ScalarType type);
/// These, and zeros for parameters (not yet initialised).
LayerTensors allocate_tensors(const models::LayerSpec& layer, torch::ScalarType type);

}  // namespace parabench::modules
