// What the plan of a rank allocates, and from when until when.
#pragma once

#include <cstdint>
#include <vector>

#include "analytic/costs/memory_model.h"
#include "analytic/memory/sizes.h"
#include "parallelism/plan/timeline.h"

namespace parabench::analytic {

/// Who hands out an allocation. On a GPU the first three are pools of the caching allocator.
enum class MemorySource { compute_stream, communication_stream, copy_stream, communicator };

struct Allocation {
  MemoryCategory category = MemoryCategory::parameters;
  std::int64_t bytes = 0;
  double from = 0, until = 0;  ///< on the timeline's clock, from < until; infinite: before or after it
  MemorySource source = MemorySource::compute_stream;
  bool operator==(const Allocation&) const = default;
};

/// The allocations of one rank over a simulated timeline, as peak_memory() (peak_memory.h) lists them. Where the device
/// is a GPU, whose allocator rounds and splits blocks, an operation's bytes come as the tensors that it makes; else in
/// one.
std::vector<Allocation> allocations(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory,
                                    const plan::Timeline& timeline, Rank rank);

}  // namespace parabench::analytic
