// Optimizers on the processor.
#pragma once

#include <vector>

#include "base/optimizer.h"
#include "parallelism/exec/optimizer/operands.h"

namespace parabench::exec {

/// The rule in one pass over each parameter of the processor's memory (lars: after its norms), split over the caller's
/// intra-op threads.
void update_by_loops(const OptimizerRule& rule, const std::vector<UpdateOperands>& parameters);

}  // namespace parabench::exec
