// Who computes which piece.
#pragma once

#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// Answers from the forwards on the compute lanes. Built in O(operations), answers in O(1).
class PieceOwners {
 public:
  explicit PieceOwners(const Plan& plan);
  /// The rank that runs the forward of micro-batch m of `step` as the holding says; Rank(-1) if none does. Beyond the
  /// plan's window its steps repeat.
  Rank of(const Holding& holding, MicroBatchId m, StepId step) const;

 private:
  std::size_t place(const Holding& holding) const;

  int replicas_, shards_, steps_, micro_batches_;
  std::vector<std::vector<Rank>> owners_;  ///< [stage][replica][shard]: one rank, or one per (step, m)
};

}  // namespace parabench::plan
