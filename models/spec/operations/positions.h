// Learned positions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/tensor_spec.h"
#include "models/spec/parameter.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Adds the vector of its position to each row of a sequence of at most `length`. They start normal with deviation
/// 0.01, as in GPT-2.
struct Positions {
  int length = 0, features = 0;
  static constexpr bool passes_gradient_on = true;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  std::vector<ParameterSpec> parameters(const std::string& name) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const Positions&) const = default;
};

}  // namespace parabench::models
