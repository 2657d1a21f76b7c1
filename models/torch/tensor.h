// Tensors of a batch from the spec of a sample.
#pragma once

#include <cstdint>
#include <vector>

#include "base/tensor_spec.h"

namespace parabench::modules {

/// Sizes of a tensor of so many samples, or of what a micro-batch of them has once.
inline std::vector<std::int64_t> sizes_of(const TensorSpec& sample, std::int64_t samples) {
  std::vector<std::int64_t> sizes;
  if (sample.kind() != ElementKind::sums) sizes.push_back(samples);
  sizes.insert(sizes.end(), sample.dims().begin(), sample.dims().end());
  return sizes;
}

}  // namespace parabench::modules
