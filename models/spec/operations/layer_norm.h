// Layer normalisation.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/tensor_spec.h"
#include "models/spec/parameter.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Over the last dimension; eps 1e-5, affine. Computes in the type of the parameters.
struct LayerNorm {
  int features = 0;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  std::vector<ParameterSpec> parameters(const std::string& name) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const LayerNorm&) const = default;
};

}  // namespace parabench::models
