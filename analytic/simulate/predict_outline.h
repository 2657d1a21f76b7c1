// The prediction of a pipeline whose plan is too long to be written.
#pragma once

#include "analytic/costs/memory_model.h"
#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"
#include "base/prediction.h"
#include "parallelism/plan/strategies/pipeline_outline.h"

namespace parabench::analytic {

/// predict() of the plan that the outline stands for, without a drawing of a step: times by sweep(), memory as
/// peak_memory() has it, of one rank's lanes at a time on each of up to four threads (side_by_side.h). Preconditions:
/// time.cores() is 0, and time has no deviations (it is not measured).
Predicted predict_outline(const plan::PipelineOutline& outline, const Sizes& sizes, const TimeModel& time,
                          const MemoryModel& memory, int warmup, int steps);

}  // namespace parabench::analytic
