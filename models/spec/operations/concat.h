// Tensors side by side.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Of an operation that reads one value or more.
inline constexpr int any_arity = 0;

/// Along the first dimension, the channels of maps; the others are equal.
struct Concat {
  static constexpr int arity = any_arity;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const Concat&) const = default;
};

}  // namespace parabench::models
