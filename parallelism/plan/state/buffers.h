// Buffers that the runs of a rank take by turns, where it has room for the whole weights or gradients of some of them.
#pragma once

#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// The runs that a rank updates its shares of, in backward order: of its first step.
struct Buffers {
  std::vector<SegmentRun> runs;
  std::vector<int> run_of;     ///< by segment: index into `runs`, -1 for a segment that the rank does not share
  std::vector<int> buffer_of;  ///< by run
  int count = 0;

  int of(SegmentId segment) const { return buffer_of[run_of[segment.value]]; }
  /// The first segment of the run of a segment.
  SegmentId first(SegmentId segment) const { return runs[run_of[segment.value]].first; }
};

/// `room` buffers for the runs by turns, in backward order; 0: one for each. The original of a tied tensor (Plan::tie),
/// which both ends of the model read, has a buffer of its own beside them. O(operations + segments).
Buffers buffers_of(const Plan& plan, Rank rank, int room);

}  // namespace parabench::plan
