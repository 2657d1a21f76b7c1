// MobileNetV2 (Sandler et al. 2018, arXiv 1801.04381) as layers.
#pragma once

#include <vector>

#include "models/spec/layer.h"

namespace parabench::models {

/// A layer per inverted residual, and stem and head. Names, order and first values are torchvision's. `small`: the form
/// for small images, pytorch-cifar's: stride 1 in the stem and the second group, ReLU, an expansion in the first block
/// too, and a projection around blocks of stride 1 whose channels change. `channels`: 32 times torchvision's
/// width_mult; every width, the stem's too, is rounded as it rounds.
std::vector<LayerSpec> mobilenet_v2_layers(int channels, int input_channels, int classes, bool small);

}  // namespace parabench::models
