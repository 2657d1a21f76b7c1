// The sum of two tensors.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

struct Add {
  static constexpr int arity = 2;
  static constexpr bool overwrites_input = true;
  static constexpr bool passes_gradient_on = true;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const Add&) const = default;
};

}  // namespace parabench::models
