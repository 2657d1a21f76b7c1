// The rules of a plan about updates of weights, what brings them to others, and averages and norms of them.
#pragma once

#include <vector>

#include "parallelism/plan/rules/rank_updates.h"

namespace parabench::plan {

/// A gather of weights that are about to be read is of the version that its step reads.
void check_gather(const RankUpdates& of, const Op& op);

/// The update that is due after a step is there, once, on a rank that makes it, of no more than the share that the sum
/// left there; others receive or gather what it wrote.
void check_update(const RankUpdates& of, SegmentId s, StepId step);

/// Weights are averaged among `sharers`, the holders of their stage, after the steps that the plan says, and no others.
void check_average(const RankUpdates& of, SegmentId s, StepId step, const std::vector<Rank>& sharers);

/// Norms are summed where an update in shares reads those of whole tensors, and nowhere else.
void check_norms(const RankUpdates& of, SegmentId s, StepId step);

}  // namespace parabench::plan
