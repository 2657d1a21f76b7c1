// Compressed sums by their formulas (base/compression.h), tensor by tensor, for the reference.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/compression.h"

namespace parabench::exec {

/// The compressed sums of one tensor's gradients, step after step.
class CompressedSum {
 public:
  /// `tensor`: its name; `members`: how many gradients there are in each step. `first_term`: -1, or from which member
  /// on sums of bf16 are added that are rounded at every addition (Departure).
  CompressedSum(const Compression& by, std::string tensor, int members, std::uint64_t seed, int first_term = -1);
  /// Of the members' gradients, in their order. Those of four dimensions in channels_last are matrices as they lie in
  /// memory, and so are their values in order.
  torch::Tensor next(const std::vector<torch::Tensor>& gradients);

 private:
  torch::Tensor low_rank(const std::vector<torch::Tensor>& matrices);
  torch::Tensor largest(const std::vector<torch::Tensor>& flat);

  Compression by_;
  std::string tensor_;
  std::uint64_t seed_;
  int first_term_;
  std::vector<torch::Tensor> errors_;  ///< of each member; undefined until the first step
  torch::Tensor factor_;               ///< PowerSGD's Q
};

}  // namespace parabench::exec
