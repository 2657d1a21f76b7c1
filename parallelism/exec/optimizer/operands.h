// What an optimizer's update reads and writes.
#pragma once

#include <torch/types.h>

#include <array>

namespace parabench {

/// The tensors of one parameter: one type, shape and order of elements in memory, without gaps. `weights` and `next` may
/// be the same.
struct UpdateOperands {
  torch::Tensor weights, next;
  /// Momentum, or first and second moment; undefined where the rule keeps none (state_count).
  std::array<torch::Tensor, 2> states;
  torch::Tensor gradient;
  torch::Tensor
      update;  ///< one fp32 number, t of the rule (optimizer.h): which update this is; undefined if not counted
};

}  // namespace parabench
