// Sums of gradients in the order in which the next forward reads the weights, P3 (Jayarajan et al., MLSys'19, arXiv
// 1905.03960) and ByteScheduler (Peng et al., SOSP'19).
#pragma once

#include <vector>

#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

/// A part of a run's gradients, when the backward has made them and how long their sum takes.
struct TimedPart {
  RunPart what;
  double ready_s = 0, sum_s = 0;
};

/// The order in which a priority queue before one link hands the parts out: whenever the link is free, of those that
/// are ready the first part of the run that the forward reads first; where none is ready, the next that will be.
/// O(n log n).
std::vector<RunPart> by_priority(std::vector<TimedPart> parts);

/// Copies of the model that sum the gradients of each layer by itself, in parts of the partition of order:priority at
/// most (whole units of slice_alignment_bytes), in the order of by_priority() by the predicted times of layers and
/// sums; each layer's update waits for the next step's forward of it (Plan::updates_late). One copy is updated whole.
Plan prioritised_plan(const StrategyInput& input);

/// Throws usage_error where order:priority comes with a bucket of its own, with compressed sums, or with a partition
/// that cuts the model's gradients into more parts than a plan may list.
void check_order(const Case& spec, const models::ModelSpec& model);

}  // namespace parabench::plan
