// A multilayer perceptron with residual connections: as many equal layers as a deep pipeline wants to cut.
#pragma once

#include <vector>

#include "base/tensor_spec.h"
#include "models/spec/layer.h"

namespace parabench::models {

/// `layers` linear layers (at least 2): the first takes the flattened image to `hidden` features, relu(norm(linear));
/// the middle ones are residual, relu(norm(linear) + x); the last one gives the classes. The norms are layer norms.
std::vector<LayerSpec> mlp_layers(int layers, int hidden, const TensorSpec& input, int classes);

}  // namespace parabench::models
