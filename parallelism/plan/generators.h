// The strategies of this version, one source file each.
#pragma once

#include "parallelism/plan/placement.h"

namespace parabench {

Plan sequential_plan(const StrategyInput& input);
Plan data_parallel_plan(const StrategyInput& input);
Plan model_parallel_plan(const StrategyInput& input);
Plan gpipe_plan(const StrategyInput& input);
Plan one_forward_one_backward_plan(const StrategyInput& input);
Plan dapple_plan(const StrategyInput& input);
Plan pipedream_plan(const StrategyInput& input);

}  // namespace parabench
