// The rules of a plan about compute lanes.
#pragma once

#include "parallelism/plan/validate.h"

namespace parabench::plan {

/// Compute lanes: placement, exactly once, order, versions, gradients, what is in flight.
void check_compute(const Plan& plan, Violations& found);

}  // namespace parabench::plan
