// The mean of each channel.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Channels x anything -> channels. Of plain features, which have no positions, it is a copy.
struct GlobalAveragePool {
  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const GlobalAveragePool&) const = default;
};

}  // namespace parabench::models
