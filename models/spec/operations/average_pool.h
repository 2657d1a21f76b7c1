// The mean of each window.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Padding does not count.
struct AveragePool {
  int kernel = 3, stride = 1, padding = 1;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const AveragePool&) const = default;
};

}  // namespace parabench::models
