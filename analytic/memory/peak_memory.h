// What a rank holds at most while it trains.
#pragma once

#include <vector>

#include "analytic/costs/memory_model.h"
#include "analytic/memory/sizes.h"
#include "base/measures.h"
#include "parallelism/plan/timeline.h"

namespace parabench::analytic {

/// Highest bytes of one rank over a simulated timeline, by category at the instant of the highest total, as the
/// executor allocates (parallelism/exec):
///  - parameters, gradients: one copy each, tensors padded to 64 bytes; fp32 unless fp64
///  - optimizer: its states, of what the rank updates; with sgd and lars momentum, only if spec.momentum != 0
///  - weight_versions: ring slots beyond the first
///  - activations: what a forward saves, the images of the first segment, and the message that it received, from the
///    forward's start to its backward's end; its temporaries while it runs; a skip until the last backward here that
///    takes it. With graph:on a step's images stay for the whole step
///  - communication: a received activation until its forward starts, a received gradient until its backward ends; what
///    norms of tensors are summed in
///  - workspace: temporaries of a backward; gradients on their way to the next backward or send, those of skips until
///    the maker's backward or their send; on a GPU, where the rank multiplies matrices, cuBLAS's
/// On the processor also resident_bytes() (resident.h). On a GPU also what the caching allocator (caching_allocator.h)
/// reserves for them at most, and device_used: this, the gradients, or weights too, in the communicator's memory, the
/// context and what the communicator holds besides. Where the GPU's memory is known and does not suffice: what they
/// would be on a larger one. O(n log n) in the rank's operations.
MemoryUsage peak_memory(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory,
                        const plan::Timeline& timeline, Rank rank);
/// Of the first `ranks` ranks; neighbours that allocate the same at the same times are worked out once.
std::vector<MemoryUsage> peak_memories(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory,
                                       const plan::Timeline& timeline, int ranks);

}  // namespace parabench::analytic
