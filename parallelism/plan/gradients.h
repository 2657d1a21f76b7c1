// What happens to gradients: runs of segments that are reduced and updated as one.
#pragma once

#include <span>
#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench {

struct SegmentRun {
  SegmentId first;
  int segments = 1;
  bool operator==(const SegmentRun&) const = default;
};

/// One run per stage, in backward order.
std::vector<SegmentRun> whole_stages(const Plan& plan);

/// Buckets of gradients in backward order, never across stages. A bucket closes when its size reaches `limit` (PyTorch
/// DDP's rule, so it may overshoot); leading segments of a stage without parameters join the bucket before them.
std::vector<SegmentRun> buckets(const Plan& plan, std::span<const Bytes> segment_bytes, Bytes limit);

/// Passes: append to each rank, in the order given, an operation for every run of its stage. Plans of one step.
Plan add_reductions(Plan plan, std::span<const SegmentRun> runs);
Plan add_updates(Plan plan, std::span<const SegmentRun> runs);

}  // namespace parabench
