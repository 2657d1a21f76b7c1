// A table of learned vectors.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/tensor_spec.h"
#include "models/spec/parameter.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Indices {length} -> {length, features}. Entries start normal with deviation 0.02, as in GPT-2.
struct Embedding {
  int entries = 0, features = 0;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  std::vector<ParameterSpec> parameters(const std::string& name) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const Embedding&) const = default;
};

}  // namespace parabench::models
