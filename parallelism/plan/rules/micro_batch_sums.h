// The rules of a plan about what is summed for each micro-batch: activations, their gradients and statistics.
#pragma once

#include "parallelism/plan/validate.h"

namespace parabench::plan {

/// Sums of activations, or of their gradients, that one rank takes part in: among the shards of their stage, or, of
/// statistics, its holders; each once, for all micro-batches of a step or none.
void check_micro_batch_sums(const Plan& plan, Rank rank, Violations& found);

/// Statistics that several ranks make are summed, and so are their gradients.
void check_statistics(const Plan& plan, Rank rank, Violations& found);

}  // namespace parabench::plan
