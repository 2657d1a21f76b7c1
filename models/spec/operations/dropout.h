// Dropout (Srivastava et al. 2014).
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// Zeroes with the probability, scales the rest by 1 / (1 - probability). What is dropped follows from seed, name of
/// the operation, the sample's position in the training stream and the element: the same for any placement, cut into
/// micro-batches and recomputation.
struct Dropout {
  double probability = 0.5;
  bool channels = false;  ///< of whole channels of a map (Tompson et al. 2015), else of single elements

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const Dropout&) const = default;
};

}  // namespace parabench::models
