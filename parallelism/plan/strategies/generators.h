// The strategies that are no schedule of a pipeline (schedule.h): one function each.
#pragma once

#include "parallelism/plan/strategies/placement.h"

namespace parabench {

Plan data_parallel_plan(const StrategyInput& input);  ///< with one rank: sequential
Plan pipedream_plan(const StrategyInput& input);
Plan pipedream_2bw_plan(const StrategyInput& input);
Plan csv_plan(const StrategyInput& input);  ///< of a schedule that the user brings

}  // namespace parabench
