// What the system counts of a rank's process, and ends it for where there is too little.
#pragma once

#include <cstdint>

#include "analytic/memory/sizes.h"
#include "base/measures.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// Bytes of other ranks' arenas that a rank has mapped: where the m ranks of a group on one host reduce and gather in
/// shared memory, each works on its m-th of every other one's arenas, (m - 1) / m of as many bytes as its own have. 0
/// where they send messages instead.
std::int64_t neighbours_bytes(const plan::Plan& plan, const Sizes& sizes, Rank rank);

/// Highest resident set of the rank's process: `process_bytes` (MemoryModel), what it counts at its peak, and
/// neighbours_bytes(). 0 where process_bytes is 0, not known.
std::int64_t resident_bytes(const plan::Plan& plan, const Sizes& sizes, std::int64_t process_bytes, Rank rank,
                            const MemoryUsage& counted);

}  // namespace parabench::analytic
