// Gaussian error linear units.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// With the tanh approximation, as in GPT-2 (Hendrycks and Gimpel 2016, arXiv 1606.08415).
struct Gelu {
  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const Gelu&) const = default;
};

}  // namespace parabench::models
