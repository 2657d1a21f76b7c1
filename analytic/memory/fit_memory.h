// recompute:auto: what must run twice for a plan to fit, and no more.
#pragma once

#include "analytic/costs/memory_model.h"
#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"
#include "base/measures.h"

namespace parabench::analytic {

/// The plan (as made, not yet unrolled) with forwards of some segments run again, so that limited_bytes() of every rank
/// are at most `limit` in a window of `steps` steps. While a rank exceeds it, that segment of its own is added that
/// frees most bytes per second of its forward; those that prove unnecessary in a step alone are kept again, the slowest
/// first. Simulates the plan at most twice per segment, the window once and again for every segment that it adds.
/// Throws usage_error naming the rank that exceeds the limit with all its segments recomputed (of `ranks_of_each` that
/// each of the plan stands for the first), its bytes and the limit.
plan::Plan recompute_to_fit(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time,
                            const MemoryModel& memory, Bytes limit, int steps, int ranks_of_each = 1);

/// Bytes of a rank that count against the case's key `memory`: what it uses of a GPU, else what is counted.
std::int64_t limited_bytes(const MemoryUsage& usage);

}  // namespace parabench::analytic
