// Which operations of different ranks meet, with everything that does not fit: shared by match() and validate().
#pragma once

#include <string>
#include <vector>

#include "parallelism/plan/dependencies.h"

namespace parabench {

struct Mismatch {
  OpRef where;
  std::string text;  ///< one line naming both sides
};

/// Pairs as the backends do: on each lane the k-th send of an ordered pair of ranks meets the k-th receive, and the
/// k-th reduction of a rank the k-th ones of the other replicas of its stage. What does not pair, or pairs unlike
/// operations, is a mismatch. Precondition: peers and segments exist. O(operations).
struct Meetings {
  Matching matching;
  std::vector<Mismatch> mismatches;
};
Meetings meetings(const Plan& plan);

/// "3SEND_F2 of step 0 on rank 1": how messages about plans name an operation.
std::string describe(const Plan& plan, OpRef ref);

}  // namespace parabench
