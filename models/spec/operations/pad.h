// Zeros around a map.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Rows and columns more on each side; negative ones are cut off.
struct Pad {
  int top = 0, left = 0, bottom = 0, right = 0;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const Pad&) const = default;
};

}  // namespace parabench::models
