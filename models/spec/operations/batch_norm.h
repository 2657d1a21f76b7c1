// Batch normalisation of a map.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/tensor_spec.h"
#include "models/spec/parameter.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// By the statistics of the batch; affine, with running statistics.
struct BatchNorm {
  int channels = 0;
  static constexpr double eps = 1e-5, momentum = 0.1;  ///< torch's defaults
  static constexpr bool mixes_samples = true;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  std::vector<ParameterSpec> parameters(const std::string& name) const;
  std::vector<ParameterSpec> buffers(const std::string& name) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const BatchNorm&) const = default;
};

}  // namespace parabench::models
