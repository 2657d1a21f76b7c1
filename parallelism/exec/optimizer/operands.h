// What an optimizer's update reads and writes.
#pragma once

#include <torch/types.h>

#include <array>

namespace parabench::exec {

/// The tensors of one parameter, or of a part of it: one type, shape and order of elements in memory, without gaps.
/// `weights` and `next` may be the same.
struct UpdateOperands {
  torch::Tensor weights, next;
  /// Momentum, or first and second moment; undefined where the rule keeps none (state_count).
  std::array<torch::Tensor, 2> states;
  torch::Tensor gradient;
  torch::Tensor
      update;  ///< one fp32 number, t of the rule (optimizer.h): which update this is; undefined if not counted
  /// Two fp64 numbers: the squares of weights and of gradients summed over the whole of the parameter of which this is
  /// a part; undefined where it is the whole, or the rule reads no norms.
  torch::Tensor squares = {};
};

}  // namespace parabench::exec
