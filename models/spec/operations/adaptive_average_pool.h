// Means of as many windows as are asked for.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Channels x any -> channels x side x side; windows overlap where the map's side is no multiple.
struct AdaptiveAveragePool {
  int side = 1;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const AdaptiveAveragePool&) const = default;
};

}  // namespace parabench::models
