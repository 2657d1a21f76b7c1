// What a rank holds of a plan's weights, and with whom it shares what belongs to them.
#pragma once

#include "analytic/closed_forms/model_states.h"
#include "analytic/memory/sizes.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// How the states of a rank that computes are shared.
struct Sharing {
  Sharded what = Sharded::nothing;
  int members = 1;     ///< that divide them
  int replicas = 1;    ///< of the weights, whole or in shares
  bool drops = false;  ///< gathered weights are dropped between forward and backward
};
/// Precondition: the rank holds a stage.
Sharing sharing_of(const plan::Plan& plan, Rank rank);

/// Of the segments that a rank holds; of one of several servers of the same weights the share that it has of them.
double weight_bytes(const plan::Plan& plan, const Sizes& sizes, Rank rank);

}  // namespace parabench::analytic
