// Rules that every plan keeps; a violation names action, rank and rule.
#pragma once

#include <string>
#include <vector>

#include "parallelism/plan/dependencies.h"

namespace parabench::plan {

struct Violation {
  OpRef where;
  std::string rule;  ///< "exactly once", "pairing", "progress", "version", "samples", ...
  std::string text;  ///< one line naming the operation, its rank and what was expected
};
using Violations = std::vector<Violation>;

/// Empty for a good plan. Checked: every F, and every B or pair of I and W, exactly once per segment, replica,
/// micro-batch and step, on a rank that holds the segment; forward before its backward, recompute where a forward
/// discarded its graph; declared order of micro-batches and limit in flight kept; sends and receives paired, in the
/// same order per ordered pair of ranks and direction, between the ranks that compute the piece; progress under
/// rendezvous and under buffered sends; gradients summed once among all holders of a shared stage; updates after the
/// sum, of no more than the rank's share where it has no more of it, and what is updated in shares gathered before it
/// is read; norms of whole tensors summed before updates in shares that read them; gradients of a tied tensor summed
/// before every update; skips sent once to every rank that takes them; activations summed over the shards of a stage for all micro-batches or none; versions read as the plan's
/// rule says, written before and still live in the ring; pieces that sum to the batch. O(operations), apart from what
/// is wrong.
Violations validate(const Plan& plan);

/// Throws Error (usage) listing the violations and the printed grid; nothing starts.
void require_valid(const Plan& plan);

}  // namespace parabench::plan
