// Which micro-batches of a pipeline are treated alike.
#pragma once

#include <cstdint>
#include <vector>

#include "parallelism/plan/strategies/pipeline_outline.h"

namespace parabench::analytic {

/// Micro-batches of a kind hold the same on a rank: of as many samples, both start gradients or add to them, run again
/// or not, with the same backwards as whole.
class MicroBatchKinds {
 public:
  /// On ranks that split the backwards of all micro-batches of a chunk, or of none.
  explicit MicroBatchKinds(const plan::PipelineOutline& outline);
  MicroBatchKinds(const plan::PipelineOutline& outline, Rank rank);

  int of(int micro_batch) const { return of_[micro_batch]; }
  const std::vector<int>& first() const { return first_; }  ///< micro-batch of each kind, ascending

 private:
  explicit MicroBatchKinds(const std::vector<std::uint64_t>& keys);
  std::vector<int> of_, first_;
};

/// Whether the rank splits some backwards of a chunk alone.
bool splits_some(const plan::PipelineOutline& outline, Rank rank);

}  // namespace parabench::analytic
