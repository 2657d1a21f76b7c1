// Whether a model can be cut into the stages of a case, and its schedule serves them.
#pragma once

#include "base/case.h"
#include "models/spec/model.h"
#include "parallelism/plan/formats/given_schedule.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::plan {

/// Throws usage_error for copies that do not divide the ranks, a stage of ZeRO that cannot be had, more stages than
/// layers, what the schedule refuses; for strategy csv without a schedule or with one of other ranks, micro-batches or
/// hash. Of a strategy with stages.
void check_stages(const Case& spec, const models::ModelSpec& model, const Strategy& strategy,
                  const GivenSchedule* given);

}  // namespace parabench::plan
