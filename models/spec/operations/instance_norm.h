// Instance normalisation of a map.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Each channel of each sample by its own statistics (Ulyanov et al. 2016); eps 1e-5, neither affine nor running
/// statistics.
struct InstanceNorm {
  int channels = 0;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const InstanceNorm&) const = default;
};

}  // namespace parabench::models
