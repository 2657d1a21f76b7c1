// AmoebaNet-D (Real et al. 2018, arXiv 1802.01548) as torchgpipe and GPipe's published table have it.
#pragma once

#include <vector>

#include "models/spec/layer.h"

namespace parabench::models {

struct AmoebaNetSize {
  int layers = 18;    ///< normal cells, a multiple of 3
  int filters = 256;  ///< a multiple of 16
};

/// A layer per cell, stem and classifier. Each cell reads the outputs of the two before it: the one before last skips a
/// layer. The cells' "3x3 maximum pools" are averages, as in torchgpipe, whose figures are compared with. Throws
/// usage_error for sizes that do not divide or images too small or odd on the way.
std::vector<LayerSpec> amoebanet_d_layers(const AmoebaNetSize& size, const TensorSpec& input, int classes);

}  // namespace parabench::models
