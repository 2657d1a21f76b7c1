// From the order of a schedule to the plan of a step.
#pragma once

#include "parallelism/plan/schedules/schedule.h"
#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

/// The plan of one step: dp copies of the pipeline, messages, gradient reductions between them and updates. Device p of
/// copy d is rank dP + p. With copies a segment is a layer, so that reductions start while backwards still run.
Plan pipeline_plan(const StrategyInput& input, const Schedule& schedule, const Pipe& pipe);

/// Adds what follows from the passes of one step: messages, reductions between copies, updates.
Plan finish_step(Plan passes, const StrategyInput& input);

}  // namespace parabench::plan
