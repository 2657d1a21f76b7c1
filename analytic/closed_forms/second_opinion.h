// Step times by closed forms, beside the simulated one.
#pragma once

#include <map>
#include <string>

#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"

namespace parabench::analytic {

/// Step times by the closed forms of closed_forms.h that apply to the plan:
///   one rank                         sum_of_operations, one after the other
///   replicas of one stage            ddlbench_eq_5_1, which exposes the last sum alone, where the backward is long
///                                    enough to hide the others; and of the following the one that applies:
///                                    decoupled_all_reduce where what the next forward reads first is gathered first,
///                                    fully_sharded where weights are gathered before they are read, hybrid_sharded
///                                    where groups of ranks share and whole weights stay, priority_order where
///                                    updates are late, else overlapped_sums; to each the sums of statistics of batch
///                                    norms (sync_bn:on), which nothing hides. Alone: local_steps where each trains
///                                    for itself between averages, parameter_server where servers update,
///                                    compressed_sums
///   pipeline with whole backwards    ddlbench_eq_6_1_6_2, unequal_stages
///   other pipelines that drain       schedule_formula: the makespan in its row
///   pipelines that do not            pipedream_planner: the slowest stage or boundary
/// None with several copies of a pipeline or with recomputed passes.
std::map<std::string, double> second_opinions(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time);

}  // namespace parabench::analytic
