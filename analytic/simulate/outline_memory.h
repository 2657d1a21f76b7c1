// What a rank of a swept pipeline holds at most.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analytic/costs/memory_model.h"
#include "analytic/memory/sizes.h"
#include "analytic/simulate/held_at_moments.h"
#include "analytic/simulate/micro_batch_kinds.h"
#include "analytic/simulate/pipeline_sweep.h"
#include "analytic/simulate/swept_ops.h"
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
  struct Event {
    double time = 0;
    int change = 0;  ///< HeldAtMoments::place()
  };
  MemoryUsage by_kinds(Rank rank, std::span<const SweptOp> ops, const MicroBatchKinds& kinds);
  /// Makes the events of the first step, of a period, those of all steps up to the instant after which nothing happens
  /// that has not happened before. `repeats`: when receives are posted that are so before the next step begins.
  void repeat_until_known(const std::vector<double>& repeats);
  /// Once all of events_ have happened that do until then.
  MemoryUsage usage_at(std::optional<double> instant, const HeldAtMoments& held) const;
  MemoryUsage by_operations(Rank rank, std::span<const SweptOp> ops);

  const plan::PipelineOutline& outline_;
  const SweptPipeline& swept_;
  const Sizes& sizes_;
  const MemoryModel& memory_;
  MicroBatchKinds kinds_;                        ///< on ranks that do not split some backwards alone
  std::vector<plan::DeviceOrder> first_passes_;  ///< of the first micro-batches of all kinds
  std::vector<std::vector<int>> lanes_of_;       ///< of messages, by rank
  std::vector<std::vector<Event>> events_;       ///< of the rank at hand: of its compute lane, of its lanes of messages
  std::int64_t process_bytes_;
  plan::Plan window_;        ///< with the operations of the rank at hand
  plan::Timeline timeline_;  ///< its alone
};

}  // namespace parabench::analytic
