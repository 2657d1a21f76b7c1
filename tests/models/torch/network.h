// A whole network for tests: a model's layers with their tensors.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "models/spec/model.h"
#include "models/torch/layer.h"

namespace parabench::models {

struct Network {
  ModelSpec model;
  std::vector<modules::LayerTensors> layers;

  Network(ModelSpec spec, torch::ScalarType type) : model(std::move(spec)) {
    for (const LayerSpec& layer : model.layers) layers.push_back(modules::allocate_tensors(layer, type));
    if (model.tie) tensor(model.tie->copy) = tensor(model.tie->original);
  }
  torch::Tensor& tensor(const ParameterPlace& place) { return layers[place.layer].parameters[place.parameter]; }
  /// Each tensor once: a tied one in its original's place.
  std::vector<ParameterPlace> places() const {
    std::vector<ParameterPlace> all;
    for (int layer = 0; layer < std::ssize(layers); ++layer) {
      for (int parameter = 0; parameter < std::ssize(layers[layer].parameters); ++parameter) {
        const ParameterPlace place{layer, parameter};
        if (origin(model, place) == place) all.push_back(place);
      }
    }
    return all;
  }
  std::vector<torch::Tensor> parameters() const {
    std::vector<torch::Tensor> all;
    for (const ParameterPlace& place : places()) all.push_back(layers[place.layer].parameters[place.parameter]);
    return all;
  }
  std::vector<torch::Tensor> buffers() const {
    std::vector<torch::Tensor> all;
    for (const modules::LayerTensors& layer : layers) all.insert(all.end(), layer.buffers.begin(), layer.buffers.end());
    return all;
  }
  torch::Tensor forward(torch::Tensor x) const {
    modules::Ports ports;
    for (std::size_t i = 0; i < layers.size(); ++i) x = modules::forward(model.layers[i], layers[i], x, ports);
    return x;
  }
};

/// `elements` values in [-0.5, 0.5), exact in float64: a 32-bit hash of index and element (golden/make_golden.py).
torch::Tensor pattern(std::int64_t index, std::int64_t elements);

/// Fills parameters with make_golden.py's closed formula of (parameter index, element index).
void fill(Network& network);

/// Images of make_golden.py.
torch::Tensor pattern_images(std::vector<std::int64_t> shape);

}  // namespace parabench::models
