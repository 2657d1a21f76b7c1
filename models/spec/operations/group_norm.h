// Group normalisation of a map.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/tensor_spec.h"
#include "models/spec/parameter.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Each group of neighbouring channels of each sample by its own statistics (Wu and He 2018, arXiv 1803.08494); eps
/// 1e-5. As many groups as channels, not affine: instance norm (Ulyanov et al. 2016). Where it is affine it computes in
/// the type of the parameters.
struct GroupNorm {
  int channels = 0;
  int groups = 1;
  bool affine = true;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  std::vector<ParameterSpec> parameters(const std::string& name) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const GroupNorm&) const = default;
};

}  // namespace parabench::models
