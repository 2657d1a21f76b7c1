// A plan as data: which rank computes which run of layers for which micro-batch, in which order, and what is sent,
// reduced or updated in between. The same plan is simulated and executed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/case.h"
#include "parallelism/plan/op.h"

namespace parabench {

/// A run of consecutive layers: the atom of the plan. One autograd call forward, one backward.
struct Segment {
  int first_layer = 0;
  int layers = 0;
  StageId stage;
  bool operator==(const Segment&) const = default;
};

/// What one rank does: its operations, lane by lane.
struct RankProgram {
  StageId stage;            ///< the rank holds every segment of this stage
  int replica = 0;          ///< its position on the data axis
  int weight_versions = 1;  ///< ring slots of weights; 1: update in place
  std::array<std::vector<Op>, lane_count> lanes;

  const std::vector<Op>& lane(Lane l) const { return lanes[static_cast<int>(l)]; }
  std::vector<Op>& lane(Lane l) { return lanes[static_cast<int>(l)]; }
  bool operator==(const RankProgram&) const = default;
};

struct Plan {
  Case spec;                      ///< the resolved case
  std::vector<Segment> segments;  ///< in layer order; neighbours of one stage adjacent
  int stages = 1;
  int replicas = 1;
  int steps = 1;                         ///< steps in the window
  bool asynchronous = false;             ///< the window is one stream whose pipe does not drain between steps
  std::vector<std::vector<int>> pieces;  ///< samples of micro-batch [replica][m]; sizes differ by one at most
  std::vector<RankProgram> ranks;
  bool operator==(const Plan&) const = default;
};

int micro_batches(const Plan& plan);  ///< per step and replica
int batch_samples(const Plan& plan);  ///< samples of one step over all replicas
/// Position of the first sample of piece (replica, m) within its step's batch; pieces lie one after the other,
/// replica by replica.
int piece_offset(const Plan& plan, int replica, MicroBatchId m);
/// [first, last] segment of a stage; segments of one stage are adjacent.
struct SegmentRange {
  SegmentId first, last;
};
SegmentRange segments_of(const Plan& plan, StageId stage);
/// Number of layers (the finest segments) per stage; the record's `partition`.
std::vector<int> partition(const Plan& plan);
/// Rank that holds `stage` of `replica`.
Rank rank_of(const Plan& plan, StageId stage, int replica);

/// Whether the rank sums its gradients with other replicas'.
bool reduces(const RankProgram& rank);

/// Sizes of `pieces` parts of `samples` that differ by one at most, larger ones first.
std::vector<int> split_evenly(int samples, int pieces);

/// The plan over `steps` steps. Synchronous: its single step repeated, versions and steps renumbered. Asynchronous: the
/// window's first `steps` mini-batches, which drain at the end; throws usage_error beyond the window.
Plan unroll(const Plan& plan, int steps);

}  // namespace parabench
