// The largest value of each window.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

struct MaxPool {
  int kernel = 3, stride = 2, padding = 1;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const MaxPool&) const = default;
};

}  // namespace parabench::models
