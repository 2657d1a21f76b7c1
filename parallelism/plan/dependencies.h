// What an operation waits for: one pure function, shared by validator, simulator and executor.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

inline constexpr int compute_lane = 0;

/// An operation's place in a plan: lane and index count from 0.
struct OpRef {
  Rank rank;
  int lane = compute_lane;
  int index = 0;
  auto operator<=>(const OpRef&) const = default;
};
const Op& at(const Plan& plan, OpRef ref);

/// For one rank, [lane][index] -> operations of the same rank that must have ended before it starts. The order within
/// a lane is implied; operations of the lane itself are listed where their result is consumed.
class LocalDependencies {
 public:
  std::span<const OpRef> of(int lane, int index) const {
    const auto& [ends, refs] = lanes_[lane];
    const std::uint32_t begin = index == 0 ? 0 : ends[index - 1];
    return {refs.data() + begin, refs.data() + ends[index]};
  }

 private:
  friend LocalDependencies dependencies(const Plan& plan, Rank rank);
  friend LocalDependencies receiving_late(const Plan& plan, Rank rank, const LocalDependencies& needs);
  struct OfLane {
    std::vector<std::uint32_t> ends;  ///< of each operation's references
    std::vector<OpRef> refs;
  };
  std::vector<OfLane> lanes_;
};

///   F(s,m)               <- the activation of s-1; every skip that enters s; what wrote the version it reads, of a
///   tied
///                           tensor too
///   RECOMPUTE(s,m)       <- F(s,m)
///   B(s,m), I(s,m)       <- RECOMPUTE(s,m), else F(s,m); the gradient of the input of s+1 (none at the last segment);
///                           that of every skip that leaves s, of all that take it
///   W(s,m)               <- I(s,m)
///   activation of s      <- its all_reduce, else F(s,m); from another rank its receive
///   gradient of s' input <- its all_reduce, else B or I(s,m); from another rank its receive
///   skip, its gradient   <- F(maker,m), B or I(taker,m); from another rank its receive
///   send                 <- its payload on this rank
///   all_reduce of either <- the pass that made this rank's part of it
///   gradients of s       <- the last B or W of s before their update is due; where s shares a tensor with a segment of
///                           another rank the sum of this tensor's gradients; where it has the tensor for a segment of
///                           this rank as well the last B or W of that one, too
///   their collective     <- the gradients of every segment of the run; a tied tensor's: the last B or W of the segment
///                           that has it here
///   that of a micro-batch <- what that micro-batch made of every segment of the run
///   add                  <- the receive of what is added; of a share its reduce_scatter
///   sum of shares        <- the reduce_scatter of every segment of the run
///   update               <- the collectives that sum the run's gradients, all parts of them, and after them those that
///                           sum its shares, or the decode of their compressed sum; where micro-batches are
///                           summed one by one the last add; else the gradients of every segment; where there are
///                           norms, the all_reduce of those of the run
///   encode               <- the gradients of every segment of the run
///   collective of what was encoded <- the encode; of what was projected <- the project
///   project              <- the collective of what was encoded
///   decode               <- the last of both collectives
///   norms                <- what their run's update would wait for without them
///   all_reduce of norms  <- the norms of every segment of the run
///   parameters           <- the updates that wrote the run, on the members that did; on the others of a broadcast
///                           the gradients of every segment, whose passes read what is overwritten
///   a version is written <- by its all_gather or broadcast, or the receives from all servers, else by its update
/// Where servers update (Plan::servers), besides:
///   B(s,m), W(s,m)       <- the sends of the gradients of an earlier step that lie in the place of theirs
///   update               <- the sends of the version in whose place it writes
///   receive of gradients <- the addition of those that the same worker sent before: room for one run of each
/// Where they take the gradients that come first (Plan::taken), besides:
///   add                  <- of the receives from all workers, by rank, those that first_come.h says
///   receive of gradients <- the update of those that the same worker sent before, which may have been dropped
///   receive of weights   <- the last pass that reads a version in whose place they come
/// With room for the whole weights of some runs alone (Plan::room):
///   F(s,m)               <- the first all_gather of its run in its step, and that of a tied tensor's
///   RECOMPUTE, B, I, W   <- the last one
///   all_gather           <- the update that wrote the version; the last pass that read the run which it replaces
/// With room for some gradients: the plan's order has an update before what makes gradients in its place.
/// An operation may wait for any number of lanes.
/// Throws usage_error naming operation and rank when a predecessor is missing from the plan. O(operations).
LocalDependencies dependencies(const Plan& plan, Rank rank);

/// The same of ranks that rehearse (paces.h), to whom messages come without a sender: a receive also waits until the
/// compute operation two before the one that takes it has ended, so that what lies in memory is taken soon. Receives of
/// a lane stay in order, and none waits for longer than one behind it. O(operations).
LocalDependencies receiving_late(const Plan& plan, Rank rank, const LocalDependencies& needs);

}  // namespace parabench::plan
