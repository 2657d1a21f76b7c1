// Leaky rectified linear units.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Slope 0.01 below 0. Its backward reads the output where that took the input's memory, else the input.
struct LeakyRelu {
  static constexpr bool overwrites_input = true;
  static constexpr bool backward_needs_output = true;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const LeakyRelu&) const = default;
};

}  // namespace parabench::models
