// Which operations of different ranks meet.
#pragma once

#include <string>
#include <vector>

#include "parallelism/plan/dependencies.h"

namespace parabench::plan {

struct LaneRef {
  Rank rank;
  int lane = 0;
};

/// [rank][lane] -> the lanes of other ranks whose operations of the same index it meets: for messages the lane at the
/// other end, for collectives those of the group's other members. As the backends pair: the k-th send of an ordered
/// pair of ranks and direction meets the k-th receive.
using Matching = std::vector<std::vector<std::vector<LaneRef>>>;

/// With everything that does not fit, for validate(): a partner that is missing or unlike. Precondition: peers, groups
/// and segments exist. O(operations).
struct Mismatch {
  OpRef where;
  std::string text;  ///< one line naming both sides
};
struct Meetings {
  Matching matching;
  std::vector<Mismatch> mismatches;
};
Meetings meetings(const Plan& plan);

/// Throws usage_error for an unmatched send, receive or collective. O(operations).
Matching match(const Plan& plan);
/// Without looking at the operations, for plans known to be good. O(lanes).
Matching twins(const Plan& plan);

/// "3SEND_F2 of step 0 on rank 1": how messages about plans name an operation.
std::string describe(const Plan& plan, OpRef ref);

}  // namespace parabench::plan
