// Rules that every plan keeps; a violation names action, rank and rule.
#pragma once

#include <string>
#include <vector>

#include "parallelism/plan/dependencies.h"

namespace parabench {

struct Violation {
  OpRef where;
  std::string rule;  ///< "exactly once", "pairing", "progress", "version", "samples", ...
  std::string text;  ///< one line naming the operation, its rank and what was expected
};

/// Empty for a good plan. Checked: every forward and backward exactly once per segment, replica, micro-batch and step;
/// on the rank that holds the segment; forward before its backward; sends and receives paired, in the same order per
/// ordered pair of ranks and lane; progress under rendezvous and under buffered sends; all_reduce over all replicas,
/// covering every segment once; update after the reduction; versions read were written and still live in the ring
/// (PipeDream: max(0, n - (stages - s)), schedules of PipeDream, SOSP'19); pieces that sum to the batch.
std::vector<Violation> validate(const Plan& plan);

/// Throws Error (usage) listing the violations and the printed grid; nothing starts.
void require_valid(const Plan& plan);

}  // namespace parabench
