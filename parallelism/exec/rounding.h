// How far rounding alone decides what a network learns: the scale against which a difference means something.
#pragma once

#include <torch/types.h>

#include <array>
#include <vector>

#include "parallelism/exec/reference.h"

namespace parabench::exec {

/// max|a - b| / max|b|: 0 where both are equal, infinity where only b is all zeros, NaN where one is not finite.
double relative_difference(const torch::Tensor& a, const torch::Tensor& b);

/// Share of itself by which each initial weight of the second reference is off: a rounding of fp64, as two orders of
/// summation make them in every layer.
inline constexpr double rounding_nudge = 0x1p-52;
/// Further references, by the share: what a rectifier makes of rounding jumps where it switches, so that one of them
/// may show a thousand times what another one does.
inline constexpr std::array rounding_nudges{rounding_nudge, -rounding_nudge, 2 * rounding_nudge, -2 * rounding_nudge};

/// Relative differences between two references, of which one started with weights off by rounding_nudge.
struct Rounding {
  std::vector<std::vector<double>> updates;               ///< of each parameter tensor's change: [layer][tensor]
  std::vector<std::vector<std::vector<double>>> buffers;  ///< of each running statistic: [rank][layer][tensor]

  /// Share of all parameters that lie in tensors which rounding decides: the nudge moves them by more than
  /// most_from_rounding. Of some networks, a few are: the gradient of a bias before a batch norm is zero but for
  /// rounding, and Adam makes steps of what there is.
  double decided_elements = 0;
};
/// `decides`: the difference above which a tensor counts as decided.
inline constexpr double most_from_rounding = 1e-3;
Rounding rounding_between(const ReferenceState& reference, const ReferenceState& nudged,
                          double decides = most_from_rounding);
/// Of the same reference by two nudges: the larger of each.
Rounding larger_of(Rounding a, const Rounding& b);

/// Sums of bf16 that are rounded at every addition depend on the order of the additions. Where nobody knows it, a run
/// is held to what so many known orders differ by from sums that are rounded once: further references, by
/// Departure::first_term.
inline constexpr int known_orders = 4;
struct OrderTolerance {
  double tolerance = 0;  ///< three times the largest of these differences, but for what orders decide
  /// Of what orders decide their differences, of all else zeros: for compare(). Orders decide a tensor whose tolerance
  /// would be half of an even share of its gradients or more, and so would not tell that a copy's are missing.
  Rounding decided;
};
/// `by_order`: for each known order rounding_between() with decided_by_order().
OrderTolerance tolerance_of_orders(std::vector<Rounding> by_order, int copies);
/// The difference from which on orders decide a tensor.
double decided_by_order(int copies);
/// Times its learning rate such a case is trained, so that a rectifier does not switch in one step by what rounding
/// made of the step before.
inline constexpr double slow_training = 0x1p-10;

/// Whether a difference is small enough to be rounding: at most ten times `nudged`, the change that nudges made. Where
/// that is 0.1 or more, any update would pass.
bool explains(double nudged, double difference);
/// Where rounding decides a larger share of the parameters, the rest tells too little.
inline constexpr double most_decided = 0.1;

}  // namespace parabench::exec
