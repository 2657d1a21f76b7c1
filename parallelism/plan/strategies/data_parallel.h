// Plans of copies of the whole model: data-parallel and zero1.
#pragma once

#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

Plan data_parallel_plan(const StrategyInput& input);  ///< with one rank: sequential
Plan zero1_plan(const StrategyInput& input);          ///< with one rank: sequential

}  // namespace parabench::plan
