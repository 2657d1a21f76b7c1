// Runs a plan on paper.
#pragma once

#include "analytic/costs/cost_model.h"
#include "parallelism/plan/timeline.h"

namespace parabench {

/// The timeline of `plan` (unrolled) under `cost`: lanes in order, operations when their dependencies have ended.
///  - Messages are a rendezvous: from the moment when both lanes have come to it, for seconds(send); both ends stay
///    occupied until it has arrived. Spans start when the operation was posted, as the executor's do.
///  - Collectives start when all members of the group have come to it.
///  - Where cost.cores() > 0, all running operations share the cores in equal parts (processor sharing). A compute
///    operation uses spec.threads cores, a message one at each end, a collective one per member. What an operation
///    suffered when it was measured (busy ranks; more demand than cores) is not charged again: it is stretched by
///    max(C, demand now) / max(C, demand when measured). The work of GPUs takes no cores. Seconds of computing follow
///    the number of ranks that compute, moment by moment. Where cost.cores() is 0, busy_ranks is 1.
/// Deterministic. Throws Error naming, rank by rank, the operations that wait for each other when the plan
/// dead-locks. O(n) in operations; with shared cores O(n k), k being the operations that run at a time.
Timeline simulate(const Plan& plan, const CostModel& cost);

/// Highest bytes of one rank over a simulated timeline, by category at the instant of the highest total, as the
/// executor allocates (parallelism/exec):
///  - parameters, gradients: one copy each, tensors padded to 64 bytes; fp32 unless fp64
///  - optimizer: its states, of what the rank updates; with sgd and lars momentum, only if spec.momentum != 0
///  - weight_versions: ring slots beyond the first
///  - activations: what a forward saves, images of the first segment, and the message it received, from its start to
///    its backward's end; its temporaries while it runs. With graph:on all images of a step throughout the step
///  - communication: a received activation until its forward starts, a received gradient until its backward ends; what
///    norms of tensors are summed in
///  - workspace: temporaries of a backward; gradients on their way to the next backward or send; on a GPU, where the
///    rank multiplies matrices, cuBLAS's
/// On a GPU also what the caching allocator (caching_allocator.h) reserves for them at most, and device_used: this, the
/// gradients, or weights too, in the communicator's memory, the context and the communicator's own buffers. Where the GPU's memory is
/// known and does not suffice: what they would be on a larger one. O(n log n) in the rank's operations.
MemoryUsage peak_memory(const Plan& plan, const ModelSpec& model, const CostModel& cost, const Timeline& timeline,
                        Rank rank);

}  // namespace parabench
