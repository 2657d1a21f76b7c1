// Residual networks for images (He et al. 2015, arXiv 1512.03385) as layers.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "models/spec/layer.h"

namespace parabench::models {

struct ResNetVariant {
  std::string_view name;
  bool bottleneck = false;      ///< 1x1 - 3x3 - 1x1 with expansion 4, else two 3x3
  std::array<int, 4> blocks{};  ///< residual blocks of each group
};

/// ResNet-18/34/50/101/152.
std::span<const ResNetVariant> resnet_variants();

/// Stem, one layer per residual block, head: 2 + sum(blocks) layers. Names, order and places of the strides are
/// torchvision's (v1.5). `small_stem`: 3x3 stem of stride 1 without pooling (pytorch-cifar). `channels`: of the stem,
/// 64 in the paper; every other width in proportion.
std::vector<LayerSpec> resnet_layers(const ResNetVariant& variant, int channels, int input_channels, int classes,
                                     bool small_stem);

/// ResNet-1001 for small images (He et al. 2016, arXiv 1603.05027): a stem, 333 bottlenecks with norm and activation
/// before each convolution in groups of 16, 32 and 64 channels (expansion 4), a head: 335 layers. The projections of
/// the groups' first blocks read the activated input. `channels`: of the stem, 16 in the paper; every other width in
/// proportion.
std::vector<LayerSpec> resnet_1001_layers(int channels, int input_channels, int classes);

}  // namespace parabench::models
