// The rules of a plan about sums, updates and shares.
#pragma once

#include "parallelism/plan/validate.h"

namespace parabench::plan {

/// From gradients to the next weights: every segment of a rank is summed among its holders, updated, whole or in the
/// share that the sum left there, and complete again; before that the two ranks of a replica that have a tied tensor
/// sum its gradients. Activations are summed over the shards of their stage.
void check_collectives(const Plan& plan, Violations& found);

}  // namespace parabench::plan
