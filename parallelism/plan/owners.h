// Who computes which piece.
#pragma once

#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench {

/// Answers from the forwards on the compute lanes. Built in O(operations), answers in O(1).
class PieceOwners {
 public:
  explicit PieceOwners(const Plan& plan);
  /// The rank that runs the forward of micro-batch (replica, m) of `step` on `stage`; Rank(-1) if none does. Beyond the
  /// plan's window its steps repeat.
  Rank of(StageId stage, int replica, MicroBatchId m, int step) const;

 private:
  int replicas_, steps_, micro_batches_;
  std::vector<std::vector<Rank>> owners_;  ///< [stage * replicas + replica]: one rank, or one per (step, m)
};

}  // namespace parabench
