// Layers that compute: a LayerSpec with torch tensors.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "models/spec/layer.h"
#include "models/torch/weight_gradients.h"

namespace parabench {

/// The tensors of one layer in registration order (models/spec: parameters(), buffers()).
struct LayerTensors {
  std::vector<torch::Tensor> parameters;  ///< leaves that require grad
  std::vector<torch::Tensor> buffers;     ///< running_mean, running_var of each batch norm
};

/// What a forward is for.
struct ForwardMode {
  /// Set: the backward of the graph computes gradients of inputs only and leaves those of the parameters here; until
  /// run() they are as they were. Both together are bit for bit the ordinary backward, in fp64, fp32 and under
  /// autocast. For graphs only (gradients enabled); the object must outlive their backward.
  WeightGradients* deferred = nullptr;
  /// Unset: running statistics stay as they are, for a forward that is computed a second time.
  bool update_statistics = true;
};

/// y = layer(x) in training mode: batch statistics normalise, running statistics are updated once. Never writes into x.
torch::Tensor forward(const LayerSpec& layer, const LayerTensors& tensors, const torch::Tensor& x,
                      const ForwardMode& mode = {});

/// Values of parameter `name`, element by element, from a counter-based generator keyed by (seed, name, element): any
/// placement starts equal. Convolutions kaiming normal (fan out, ReLU), norms 1 / 0, linear uniform
/// +-1/sqrt(fan in), as torchvision initialises ResNets. `out`: elements() values.
void initialise(const LayerSpec& layer, std::size_t parameter, std::uint64_t seed, std::span<double> out);

/// Fresh tensors of the layer on the CPU: zeros for parameters (not yet initialised), running mean 0, variance 1.
LayerTensors allocate_tensors(const LayerSpec& layer, torch::ScalarType type);

}  // namespace parabench
