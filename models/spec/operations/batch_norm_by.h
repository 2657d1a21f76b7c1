// Batch normalisation of a map by statistics that come from elsewhere.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/tensor_spec.h"
#include "models/spec/parameter.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// BatchNorm of its first input by the statistics (BatchStatistics) that its second one is: those of the micro-batch,
/// or their sums over several ranks. Parameters and buffers are BatchNorm's.
struct BatchNormBy {
  int channels = 0;
  static constexpr int arity = 2;
  static constexpr bool mixes_samples = true;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  std::vector<ParameterSpec> parameters(const std::string& name) const;
  std::vector<ParameterSpec> buffers(const std::string& name) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const BatchNormBy&) const = default;
};

}  // namespace parabench::models
