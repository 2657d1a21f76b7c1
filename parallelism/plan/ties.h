// A tensor that two layers of the model share, in a plan: who holds it, and who sums its gradients.
#pragma once

#include <optional>
#include <vector>

#include "models/spec/model.h"
#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// Where the model's tie lies in a plan whose ranks have their holdings; none where the model ties nothing. Throws
/// usage_error where ranks that hold the copy hold the original and others do not, since replicas of one stage would
/// then differ, and where the two segments read different weight versions: one tensor has one version at a time.
std::optional<TiedSegments> tied_segments(const Plan& plan, const models::ModelSpec& model);

/// The other segment whose weights a segment reads: of the copy of a shared tied tensor the original, where it is one
/// of another segment.
inline std::optional<SegmentId> shared_original(const Plan& plan, SegmentId s) {
  const std::optional<TiedSegments>& tie = plan.tie;
  if (!tie || !tie->shared || s != tie->copy || tie->original == tie->copy) return std::nullopt;
  return tie->original;
}

/// The ranks among which the gradients of the tied tensor are summed that `rank` has, ascending: the holders of either
/// segment for the same replica and shard. Precondition: the plan has a tie that is not shared, and the rank holds one
/// of its segments.
std::vector<Rank> tie_members(const Plan& plan, Rank rank);

/// Pass: notes the model's tie in the plan and, where different ranks hold its two ends, sums their gradients before
/// every update, each replica's two ranks in a group of their own (Megatron-LM's embedding group). What reduces or
/// updates either segment waits for the sum, so both ranks then make the same update, but for
/// the order of summation where it depends on a tensor's place (NCCL with three copies or more; norms of shares). With
/// pipedream-2bw the last stage's update thereby waits for the first stage's backward. For plans of any window.
/// Throws what tied_segments() throws.
Plan add_tied_sums(Plan plan, const models::ModelSpec& model);

}  // namespace parabench::plan
