// The plan of a schedule that the user brings.
#pragma once

#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

Plan csv_plan(const StrategyInput& input);

}  // namespace parabench::plan
