// From the order of a schedule to the plan of a step.
#pragma once

#include "parallelism/plan/schedules/schedule.h"
#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

/// The stage of a chunk on device p.
StageId stage_of_chunk(StageOrder order, int devices, int device, int chunk);

/// The plan of a case with what its ranks hold, before they do anything.
Plan pipeline_without_passes(const StrategyInput& input, const Schedule& schedule, const Pipe& pipe);

/// Appends a device's passes to the rank that is this device of a copy, in order. `plan`: pipeline_without_passes().
void add_passes(const Plan& plan, const Schedule& schedule, const Pipe& pipe, int device, const DeviceOrder& order,
                RankProgram& rank);

/// The plan of one step: dp copies of the pipeline, messages, gradient reductions between them and updates. Device p of
/// copy d is rank dP + p. With copies a segment is a layer, so that reductions start while backwards still run.
Plan pipeline_plan(const StrategyInput& input, const Schedule& schedule, const Pipe& pipe);

/// Adds what follows from the passes of one step: messages, reductions between copies, updates.
Plan finish_step(Plan passes, const StrategyInput& input);

}  // namespace parabench::plan
