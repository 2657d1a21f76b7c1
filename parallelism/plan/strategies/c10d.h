// Data parallelism whose gradients PyTorch's own reducer sums, c10d::Reducer (Li et al., VLDB'20).
#pragma once

#include "base/strong.h"
#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

/// The reducer closes a bucket when it has so many bytes.
struct BucketLimits {
  Bytes first, others;
};
/// As torch.nn.parallel.DistributedDataParallel of PyTorch 2.11 has it: of buckets whose size nobody asked for, the
/// first one is of 1 MiB, so that its sum starts early.
BucketLimits bucket_limits(const Case& spec);

/// Whether the case's gradients are summed in buffers of the reducer.
bool sums_by_reducer(const Case& spec);

/// Bytes of the buckets that an all-reduce of such a plan stands for: those up to the one that has the last gradient of
/// its run, without those of earlier sums. The last of them may also hold gradients of the next layer, whose backward
/// is still to come: the plan then begins the sum earlier than the reducer can, by a part of that backward.
/// O(parameters).
Bytes summed_bytes(const Plan& plan, const models::ModelSpec& model, const Op& sum);

/// Throws usage_error for what the reducer is not driven with: another device than the processor, recompute.
void check_reducer(const Case& spec);

/// The plan that the reducer comes to once its buckets are made anew: those of parameters in backward order, a layer
/// with the bucket that completes its gradients, and one update when all sums have ended. With one rank: sequential.
Plan c10d_plan(const StrategyInput& input);

}  // namespace parabench::plan
