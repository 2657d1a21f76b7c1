// How far rounding alone decides what a network learns: the scale against which a difference means something.
#pragma once

#include <torch/types.h>

#include <vector>

#include "parallelism/exec/reference.h"

namespace parabench {

/// max|a - b| / max|b|: 0 where both are equal, infinity where only b is all zeros, NaN where one is not finite.
double relative_difference(const torch::Tensor& a, const torch::Tensor& b);

/// Share of itself by which each initial weight of the second reference is off: a rounding of fp64, as two orders of
/// summation make them in every layer.
inline constexpr double rounding_nudge = 0x1p-52;

/// Relative differences between two references, of which one started with weights off by rounding_nudge.
struct Rounding {
  std::vector<std::vector<double>> updates;               ///< of each parameter tensor's change: [layer][tensor]
  std::vector<std::vector<std::vector<double>>> buffers;  ///< of each running statistic: [rank][layer][tensor]

  double largest = 0;           ///< of those that rounding does not decide
  int decided = 0;              ///< tensors and running statistics that it does decide
  double decided_elements = 0;  ///< share of all parameters that lie in such tensors
};
Rounding rounding_between(const ReferenceState& reference, const ReferenceState& nudged);

/// Whether rounding decides a tensor: a change of a few roundings moves it by more than 1e-5. Of some networks, a few are:
/// the gradient of a bias before a batch norm is zero but for rounding, and Adam makes steps of what there is.
bool decides(double difference);

/// What rounding may make two orders of summation differ by, where a nudge made so much of it.
double tolerated(double difference);
/// Whether enough is left to compare: nine tenths of the parameters.
bool leaves_enough(const Rounding& rounding);

}  // namespace parabench
