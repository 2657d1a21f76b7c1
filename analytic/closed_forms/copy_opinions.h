// The formulas of copies of the whole model, by a plan's own times.
#pragma once

#include <map>
#include <string>

#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// Of copies that sum gradients in every step, with shards of states or weights or without; by the formulas' names.
void add_copy_opinions(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time,
                       std::map<std::string, double>& opinions);
/// Of workers with servers.
double server_opinion(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time);
/// Of copies that average their weights once in some steps.
double local_opinion(const plan::Plan& plan, const TimeModel& time);
/// Of sums beside the backward, which hides all but the last where it takes long enough.
double overlapped_opinion(const plan::Plan& plan, const TimeModel& time);
/// Whether the backward of copies can hide all collectives but the last run's. False where they gather weights, too,
/// ahead of other passes or behind the updates.
bool backward_hides(const plan::Plan& plan, const TimeModel& time);

}  // namespace parabench::analytic
