// Statistics of batch norms that several ranks add up (Plan::statistics).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/spec/model.h"
#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// The segments whose output is statistics of a micro-batch, ascending.
std::vector<SegmentId> statistics_segments(std::span<const Segment> segments, const models::ModelSpec& model);

/// Whether the operation sums statistics, or their gradients, between the two segments that make and read them.
bool sums_statistics(const Plan& plan, const Op& op);

/// The sum of the statistics that a pass makes, or of the gradients of those that it read; none where it has neither.
std::optional<Op> sum_of_statistics(const Plan& plan, const Op& pass, GroupId group);

/// Pass: has the holders of a stage, where they are several, sum the statistics that they make between the forwards of
/// both segments, and the gradients of the statistics between the backwards. One group for all of them: its ranks
/// compute the micro-batches of a step in the same order.
Plan add_statistics_sums(Plan plan);

}  // namespace parabench::plan
