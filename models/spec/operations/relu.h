// Rectified linear units.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

struct Relu {
  static constexpr bool overwrites_input = true;
  static constexpr bool backward_needs_output = true;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const Relu&) const = default;
};

}  // namespace parabench::models
