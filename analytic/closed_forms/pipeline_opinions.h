// The formulas of pipelines, by a plan's own times.
#pragma once

#include <map>
#include <string>

#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// Of a pipeline that drains, or of any order; by the formulas' names.
void add_pipeline_opinions(const plan::Plan& plan, const TimeModel& time, std::map<std::string, double>& opinions);
/// Of PipeDream: the slowest stage, or the slowest boundary, over which all micro-batches of a step pass in both
/// directions. Sums of replicas are priced as the case's `sync` says, at the rate of those among as many of them.
double planner_period(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time);

}  // namespace parabench::analytic
