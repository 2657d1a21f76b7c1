// What layers cost: FLOPs, bytes moved and kept.
#pragma once

#include <span>

#include "models/spec/layer.h"
#include "models/spec/layer_cost.h"

namespace parabench::models {

/// Cost of a layer for elements of `element_bytes` (4: fp32, 8: fp64, 2: bf16 activations under autocast).
/// `first`: the layer's input needs no gradient. Saved bytes count each storage once and leave parameters out; the
/// copies of weights that autocast makes do count. A test holds them to what autograd really saves.
LayerCost cost(const LayerSpec& layer, const TensorSpec& in, int element_bytes, bool first = false);

/// Cost of consecutive layers. Saved bytes are less than the sum where a layer keeps its output, which is the
/// next one's input: one storage, also across a detached boundary of segments.
LayerCost cost(std::span<const LayerSpec> layers, const TensorSpec& in, int element_bytes, bool first = false);

}  // namespace parabench::models
