// Step times by closed forms, beside the simulated one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"

namespace parabench::analytic {

/// Step times by the closed forms of closed_forms.h that apply to the plan:
///   one rank                         sum_of_operations, one after the other
///   replicas of one stage            ddlbench_eq_5_1, which exposes the last sum alone, and of the following the one
///                                    that applies:
///                                    decoupled_all_reduce where what the next forward reads first is gathered first,
///                                    fully_sharded where weights are gathered before they are read, hybrid_sharded
///                                    where groups of ranks share and whole weights stay, priority_order where
///                                    updates are late, else overlapped_sums; to each the sums of statistics of batch
///                                    norms (sync_bn:on), which nothing hides. Alone: local_steps where each trains
///                                    for itself between averages, parameter_server where servers update,
///                                    compressed_sums
///   pipeline with whole backwards    of one stage per rank: unequal_stages, and of one copy ddlbench_eq_6_1_6_2,
///                                    unless its micro-batches are fewer than W - 2
///   other pipelines that drain       schedule_formula: the makespan in its row
///   pipelines that do not            pipedream_planner: the slowest stage, its update included, or boundary, sums
///                                    priced as the case's `sync` says
///   of all others                    busiest_rank: the most that a rank has to compute while no other one does, which
///                                    no order goes below that has one operation of a rank after the other
/// Recomputation, and backwards that add to gradients, add to pipelines what the rank with most of it takes for it: in
/// the drain they fill the bubble. Copies add the sums of the rank with most of them, which begin when the pipeline has
/// drained (Narayanan et al., SC'21), and updates what no backward of a stage before hides; to a schedule_formula all
/// of the longest. To DDLBench's equations none of this is added: they stand as they are in the thesis (Jansen 2020),
/// with the update as a part of their sequential time.
std::map<std::string, double> second_opinions(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time);

/// What DDLBench's equations, and the formulas of pipelines whose ranks share cores, assume among these `opinions` and
/// the plan does not keep: a clause each, by the form's name, and no name of one whose assumptions hold. That stages
/// are equal, messages pass in lock-step and sums go around a ring is not asked.
std::map<std::string, std::vector<std::string>> broken_assumptions(const plan::Plan& plan, const TimeModel& time,
                                                                   const std::map<std::string, double>& opinions);

}  // namespace parabench::analytic
