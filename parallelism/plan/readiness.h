// When the operations of a rank may start where none waits for its turn on the compute lane: futurized execution.
#pragma once

#include <cstdint>
#include <vector>

#include "parallelism/plan/dependencies.h"

namespace parabench::plan {

/// What keeps its place though dependencies() alone would let it change places. For each operation of the compute lane:
/// earlier ones that must have ended.
///  - passes of one kind through a segment keep their order: samples come one after the other, batch norm's running
///    statistics follow it, and messages leave in it
///  - what makes or adds gradients of a segment, and the updates that use them up; two segments that share a tensor
///    count as one: sums have the order of the plan, so that not a bit of them differs
///  - the k-th forward into a stage waits for departure k - n, which is the last backward of a stage and micro-batch (B
///    or W), n being the most in flight in the plan's order: no more than these are in flight in any order
///  - the same for graphs that were made again: from RECOMPUTE to B or W, no more at a time than in the plan's order
///  - where runs take a buffer by turns (Plan::room), the passes that read weights in it, and what makes and uses up
///    gradients in it
/// All of them come before the operation in the plan, so whatever starts in some order that keeps this and the
/// dependencies comes to an end if the plan does. O(operations).
std::vector<std::vector<int>> kept_order(const Plan& plan, Rank rank);

/// Counts down what the operations of a rank wait for: on the compute lane dependencies and kept order, on other lanes
/// dependencies and the operation before. The plan may go once it is made.
class Readiness {
 public:
  Readiness(const Plan& plan, Rank rank, const LocalDependencies& needs);

  /// Those that wait for nothing.
  std::vector<OpRef> initial() const;
  /// Notes that an operation has ended, once for each, and appends those that may start now and could not before.
  /// O(what waits for it).
  void end(const OpRef& op, std::vector<OpRef>& ready);

 private:
  int number(const OpRef& op) const { return first_[op.lane] + op.index; }
  OpRef ref(int number) const;

  Rank rank_;
  std::vector<int> first_;  ///< number of each lane's first operation, then of all
  std::vector<int> open_;   ///< by operation: how many it waits for
  std::vector<int> begin_;  ///< by operation: where those that wait for it begin below; one more at the end
  std::vector<int> waiting_;
};

}  // namespace parabench::plan
