// VGG networks for images (Simonyan and Zisserman 2014, arXiv 1409.1556) as layers.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "models/spec/layer.h"

namespace parabench::models {

struct VggVariant {
  std::string_view name;
  std::array<int, 5> convolutions{};  ///< of each group
  bool batch_norm = false;
};

/// vgg11, vgg13, vgg16, vgg19, and each of them -bn.
std::span<const VggVariant> vgg_variants();

/// A layer per convolution, with what follows it, and per linear layer of the classifier. Names, order and first values
/// are torchvision's. `small`: the form for small images, pytorch-cifar's: one linear layer classifies the mean of each
/// channel; a group whose map has become a single row is not pooled. `channels`: of the first convolution, 64 in the
/// paper; every other width, the classifier's too, in proportion. Throws usage_error where a map is too small.
std::vector<LayerSpec> vgg_layers(const VggVariant& variant, int channels, const TensorSpec& input, int classes,
                                  bool small);

}  // namespace parabench::models
