// What a rank of a swept pipeline holds at most.
#pragma once

#include <span>

#include "analytic/costs/memory_model.h"
#include "analytic/memory/sizes.h"
#include "analytic/simulate/pipeline_sweep.h"
#include "base/measures.h"

namespace parabench::analytic {

/// peak_memory() of the plan that an outline stands for, over the steps of its sweep, rank by rank. What micro-batches
/// hold, and from when until when, allocations() tells of the first one of each kind (of as many samples, with
/// backwards as whole, run again or not); the others hold as much at their own times. On a GPU, whose allocator
/// remembers what came before, all of a rank's operations are written. Outline, sweep and models outlive it.
class OutlineMemory {
 public:
  OutlineMemory(const plan::PipelineOutline& outline, const SweptPipeline& swept, const Sizes& sizes,
                const MemoryModel& memory);
  /// `ops`: swept_ops() of the rank. O(passes of the rank + ranks).
  MemoryUsage of(Rank rank, std::span<const SweptOp> ops);

 private:
  MemoryUsage by_kinds(Rank rank, std::span<const SweptOp> ops);
  MemoryUsage by_operations(Rank rank, std::span<const SweptOp> ops);

  const plan::PipelineOutline& outline_;
  const SweptPipeline& swept_;
  const Sizes& sizes_;
  const MemoryModel& memory_;
  std::int64_t process_bytes_;
  plan::Plan window_;        ///< with the operations of the rank at hand
  plan::Timeline timeline_;  ///< its alone
};

}  // namespace parabench::analytic
