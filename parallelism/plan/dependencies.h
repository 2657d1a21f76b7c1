// What an operation waits for: one pure function, shared by validator, simulator and executor.
#pragma once

#include <array>
#include <compare>
#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench {

/// An operation's place in a plan.
struct OpRef {
  Rank rank;
  Lane lane = Lane::compute;
  int index = 0;
  auto operator<=>(const OpRef&) const = default;
};
const Op& at(const Plan& plan, OpRef ref);

/// For one rank, [lane][index] -> operations of the same rank that must have ended before it starts. The order
/// within a lane is implied and not listed.
///   forward(s,m)  <- forward(s-1,m) or recv_forward(s,m); the update that wrote the version it reads
///   backward(s,m) <- forward(s,m); backward(s+1,m) or recv_backward(s,m) (none at the last segment: the loss is local)
///   send_*(s,m)   <- the forward or backward that made the payload
///   all_reduce    <- the step's last backward of every segment of the run
///   update        <- the all_reduce that covers the run, else the last backward of every segment of the run
/// Throws usage_error naming operation and rank when a predecessor is missing from the plan. O(operations).
using LocalDependencies = std::array<std::vector<std::vector<OpRef>>, lane_count>;
LocalDependencies dependencies(const Plan& plan, Rank rank);

/// What crosses ranks: for every receive the send that feeds it (and back), for every all_reduce its peers.
struct Matching {
  /// [rank][lane][index], the operation itself excluded.
  std::vector<std::array<std::vector<std::vector<OpRef>>, lane_count>> partners;
};
/// Throws usage_error for an unmatched send, receive or collective. O(operations).
Matching match(const Plan& plan);

}  // namespace parabench
