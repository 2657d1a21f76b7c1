// Runs a plan on paper.
#pragma once

#include "analytic/cost_model.h"
#include "parallelism/plan/timeline.h"

namespace parabench {

/// The timeline of `plan` under `cost`: lanes in order, operations when their dependencies have ended, messages when both
/// ends are ready, collectives when all ranks are. Where cost.cores() > 0, running operations share the cores in equal parts
/// (processor sharing). Deterministic. Throws Error naming the operations that wait for each other when the plan dead-locks. O(n log n) in operations.
Timeline simulate(const Plan& plan, const CostModel& cost);

/// Highest bytes of one rank by category over a simulated timeline: states from the plan, activations in flight from
/// the spans, temporaries of the operation that runs.
MemoryUsage peak_memory(const Plan& plan, const ModelSpec& model, const CostModel& cost, const Timeline& timeline, Rank rank);

}  // namespace parabench
