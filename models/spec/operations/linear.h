// A linear layer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/tensor_spec.h"
#include "models/spec/parameter.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Over the last dimension.
struct Linear {
  int in = 0, out = 0;
  bool bias = true;
  double deviation = 0;  ///< weights start normal with it and biases 0; 0: both uniform, +-1/sqrt(in), torch's default

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  std::vector<ParameterSpec> parameters(const std::string& name) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const Linear&) const = default;
};

}  // namespace parabench::models
