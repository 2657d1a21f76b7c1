// Nearest upsampling.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Each pixel becomes factor x factor.
struct Upsample {
  int factor = 2;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const Upsample&) const = default;
};

}  // namespace parabench::models
