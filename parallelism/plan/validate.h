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

/// Empty for a good plan. O(operations), apart from what is wrong. Checked:
///  - every F, and every B or pair of I and W, exactly once per segment, replica, micro-batch and step, on a rank that
///    holds the segment; pieces that sum to the batch
///  - forward before its backward; a recompute where a forward discarded its graph; the declared order of micro-batches
///    and limit in flight
///  - versions read as the plan's rule says, written before and still live in the ring
///  - sends and receives paired, in the same order per ordered pair of ranks and direction, between the ranks that
///    compute the piece; skips sent once to every rank that takes them
///  - gradients summed once among all holders of a shared stage, those of a tied tensor before that; activations summed
///    over the shards of a stage for all micro-batches or none
///  - updates after the sum; a rank that has but a share of it updates no more than that, after the norms of whole
///    tensors are summed where updates read them, and gathers the rest before it is read
///  - progress under rendezvous and under buffered sends
Violations validate(const Plan& plan);

/// Throws Error (usage) listing the violations, with the printed grid of a plan that can be
/// drawn; nothing starts.
void require_valid(const Plan& plan);

}  // namespace parabench::plan
