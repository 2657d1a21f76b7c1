// PyTorch's own reducer of gradients, c10d::Reducer (Li et al., VLDB'20), over a communicator of ours.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "parallelism/comm/groups.h"
#include "parallelism/plan/strategies/c10d.h"

namespace parabench::exec {

class CollectiveThread;

/// The reducer as torch.nn.parallel.DistributedDataParallel makes it: hooks of autograd copy every gradient, divided by
/// the number of ranks, into its bucket; a bucket that is full is summed while the backward goes on, in the order of
/// buckets; at the end of the backward all sums are waited for and copied back into the gradients. The first backward
/// has all gradients in one bucket; before the second forward the buckets are made anew, in the order in which rank 0's
/// gradients came. It takes its process group for a c10d::Backend, whose all-reduces and broadcasts are those of the
/// thread that it is told to use.
class BucketReducer {
 public:
  /// `parameters`: leaves on the processor that require gradients, each once, all of one type; the same on all ranks.
  BucketReducer(std::vector<torch::Tensor> parameters, Rank rank, int ranks, const plan::BucketLimits& limits);
  ~BucketReducer();

  /// Where its collectives go from now on: over `group`, by `thread`.
  void use(CollectiveThread& thread, CommGroupId group);
  /// Before every forward. Collective where it makes the buckets anew; true if it did.
  bool prepare_forward();
  /// Before every backward.
  void prepare_backward();
  /// Places of each bucket's parameters among those given to the constructor, in the order in which buckets are summed.
  std::vector<std::vector<std::size_t>> buckets() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace parabench::exec
