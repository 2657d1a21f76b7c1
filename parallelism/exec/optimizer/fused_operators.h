// Optimizers by torch's operators.
#pragma once

#include <vector>

#include "base/optimizer.h"
#include "parallelism/exec/optimizer/operands.h"

namespace parabench::exec {

/// The rule by torch's fused operators (lars: by operators on lists) over all parameters at once, wherever they lie.
/// Nothing is read by the host, so a CUDA graph may capture it.
void update_by_operators(const OptimizerRule& rule, const std::vector<UpdateOperands>& parameters);

}  // namespace parabench::exec
