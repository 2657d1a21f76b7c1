// U-Net (Ronneberger et al. 2015), in the simplified form by which torchgpipe (Kim et al. 2020) measures long skips.
#pragma once

#include <vector>

#include "models/spec/layer.h"

namespace parabench::models {

struct UnetSize {
  int depth = 5;         ///< encoders, and decoders
  int convolutions = 5;  ///< of each cell
  int channels = 64;     ///< of the first encoder; they double from one to the next
};

/// A layer per convolution, with dropout of whole channels, instance norm and leaky ReLU; an encoder's last one pools
/// its output, which also skips to the decoder of its size; a 1x1 convolution gives the classes of each pixel. Throws
/// usage_error where the image is too small.
std::vector<LayerSpec> unet_layers(const UnetSize& size, const TensorSpec& input, int classes);

}  // namespace parabench::models
