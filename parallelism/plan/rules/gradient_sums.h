// The rules of a plan about sums of gradients among the holders of a stage: whole, in parts, shares or compressed.
#pragma once

#include <set>
#include <tuple>
#include <vector>

#include "parallelism/plan/rules/rank_updates.h"

namespace parabench::plan {

/// What of sums of several parts was there already.
struct SeenSums {
  std::set<std::tuple<SegmentId, StepId, int>> parts;                    ///< by the run's first segment
  std::set<std::tuple<OpKind, SegmentId, StepId, MicroBatchId>> pieces;  ///< the same of micro-batches
};
/// All parts of a run are summed on one lane, each once.
void check_part(const RankUpdates& of, const Op& op, SeenSums& seen);
/// Sums of a run's micro-batches, and what adds them, are each there once.
void check_piece(const RankUpdates& of, const Op& op, Counted UpdateStep::*member, SeenSums& seen);

/// The sum that is due after a step is there, once, among those that hold the segment's stage, `sharers`, ascending;
/// shares that it leaves are summed between their groups; it is compressed where the case says so.
void check_gradient_sums(const RankUpdates& of, SegmentId s, StepId step, const std::vector<Rank>& sharers);

}  // namespace parabench::plan
