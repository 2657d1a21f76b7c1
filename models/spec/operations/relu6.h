// Rectified linear units cut off at 6.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Sandler et al. 2018 (MobileNetV2). Its backward reads its input, so ATen would copy that where the output
/// were written over it.
struct Relu6 {
  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const Relu6&) const = default;
};

}  // namespace parabench::models
