// A tower of equal residual convolutions.
#pragma once

#include <vector>

#include "base/tensor_spec.h"
#include "models/spec/layer.h"

namespace parabench::models {

/// A stem to `channels` maps, `depth` residual blocks of a 3x3 convolution each, and a linear head.
std::vector<LayerSpec> tower_layers(int depth, int channels, const TensorSpec& input, int classes);

}  // namespace parabench::models
