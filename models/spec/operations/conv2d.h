// A convolution over a map.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/tensor_spec.h"
#include "models/spec/operations/extent.h"
#include "models/spec/parameter.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Weights start kaiming normal (fan out, ReLU), as in torchvision's networks.
struct Conv2d {
  int in = 0, out = 0;
  Extent kernel = 1;
  int stride = 1;
  Extent padding = 0;
  int groups = 1;     ///< divides both numbers of channels; as many as there are channels: depthwise
  bool bias = false;  ///< drawn as 0

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  std::vector<ParameterSpec> parameters(const std::string& name) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const Conv2d&) const = default;
};

}  // namespace parabench::models
