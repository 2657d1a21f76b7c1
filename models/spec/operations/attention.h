// Scaled dot-product attention.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// {length, 3 features} -> {length, features}: queries, keys and values beside each other, each of them `heads` times
/// features / heads wide (Vaswani et al. 2017). Its projections are linear layers around it.
struct Attention {
  int heads = 1;
  bool causal = true;  ///< a position sees itself and those before it
  static constexpr bool backward_needs_output = true;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const Attention&) const = default;
};

}  // namespace parabench::models
