// Plans of copies of the whole model.
#pragma once

#include <functional>
#include <vector>

#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

// With one rank each is sequential training.
Plan data_parallel_plan(const StrategyInput& input);
// The stages of ZeRO (Rajbhandari et al. 2020): what ranks keep but a share of.
Plan zero1_plan(const StrategyInput& input);  ///< the optimizer's states
Plan zero2_plan(const StrategyInput& input);  ///< the gradients too
Plan zero3_plan(const StrategyInput& input);  ///< the weights too
/// Sums in halves: the first beside the backward, the second, a gather of updated weights in the order in which
/// forwards read them, beside the next step's forward (Zhang et al. 2023, arXiv 2302.12445).
Plan dear_plan(const StrategyInput& input);

/// Copies of the model, a segment per layer, each with the passes of its share of the batch; `share` adds what several
/// of them do to gradients and weights. One copy is updated whole.
Plan replicated_plan(const StrategyInput& input, const std::function<Plan(Plan)>& share);
/// The same; `share` gets the case's buckets beside the plan.
Plan bucketed_plan(const StrategyInput& input, const std::function<Plan(Plan, const std::vector<SegmentRun>&)>& share);

}  // namespace parabench::plan
