// The formulas of pipelines, by a plan's own times.
#pragma once

#include <map>
#include <string>

#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"
#include "parallelism/plan/partition/replicated_stage.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// Of a pipeline that drains, or of any order; by the formulas' names.
void add_pipeline_opinions(const plan::Plan& plan, const TimeModel& time, std::map<std::string, double>& opinions);

/// Seconds between two mini-batches, and the link that the slowest stage's sums were priced by.
struct PlannerPeriod {
  double seconds = 0;
  plan::ReplicaLink link;
};
/// Of PipeDream: the slowest stage's, passes, forwards that run again and update, or the slowest boundary's, over which
/// all micro-batches of a step pass in both directions. Sums of replicas are priced as the case's `sync` says, at the
/// rate of those among as many of them.
PlannerPeriod planner_period(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time);
/// The same of the alternative to all of its stages: one on all ranks.
PlannerPeriod data_parallel_period(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time);

}  // namespace parabench::analytic
