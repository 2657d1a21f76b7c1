// All dimensions as one.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Nothing moves where the tensor is planar.
struct Flatten {
  static constexpr bool is_view = true;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const Flatten&) const = default;
};

}  // namespace parabench::models
