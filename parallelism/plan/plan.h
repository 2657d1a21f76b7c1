// A plan as data: which rank computes which run of layers for which micro-batch, in which order, and what is sent,
// reduced or updated in between. The same plan is simulated and executed.
#pragma once

#include <string>
#include <vector>

#include "base/case.h"
#include "parallelism/plan/lane.h"

namespace parabench {

/// A run of consecutive layers: the atom of the plan. One autograd call forward, one backward.
struct Segment {
  int first_layer = 0;
  int layers = 0;
  StageId stage;
  bool operator==(const Segment&) const = default;
};

/// A stage whose weights a rank has. `replica`: which pieces of the batch pass through it there.
struct Holding {
  StageId stage;
  int replica = 0;
  bool operator==(const Holding&) const = default;
};

/// What one rank does: its operations, lane by lane.
struct RankProgram {
  std::vector<Holding> holds;          ///< ascending stages, each once
  int weight_versions = 1;             ///< ring slots of weights; 1: update in place
  int in_flight = 0;                   ///< most pairs of stage and micro-batch from forward to last backward; 0: any
  std::vector<Lane> lanes = {Lane{}};  ///< the compute lane first, then by kind and key

  const std::vector<Op>& compute() const { return lanes.front().ops; }
  std::vector<Op>& compute() { return lanes.front().ops; }
  /// Its operations of that kind and key; an empty lane is made where there is none.
  std::vector<Op>& lane(LaneKind kind, int key);
  /// Index of such a lane, -1 where there is none.
  int find_lane(LaneKind kind, int key) const;
  bool operator==(const RankProgram&) const = default;
};

/// Which weights step t reads: version max(0, t / steps_per_update - lag). The steps of one update add up their
/// gradients.
struct VersionRule {
  int lag = 0;
  int steps_per_update = 1;
  bool operator==(const VersionRule&) const = default;
};

struct Plan {
  Case spec;                      ///< the resolved case
  std::vector<Segment> segments;  ///< in layer order; neighbours of one stage adjacent
  int stages = 1;
  int replicas = 1;
  int steps = 1;                         ///< steps in the window
  bool asynchronous = false;             ///< the window is one stream whose pipe does not drain between steps
  bool in_order = true;                  ///< micro-batches pass each segment of a rank first in, first out
  std::vector<VersionRule> versions;     ///< of each stage (delay_rules.h); synchronous plans: no lag
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
/// The one that computes the loss.
SegmentId last_segment(const Plan& plan);
/// The segments that a rank holds, ascending.
std::vector<SegmentId> segments_held(const Plan& plan, Rank rank);
/// Number of layers (the finest segments) per stage; the record's `partition`.
std::vector<int> partition(const Plan& plan);

StageId stage_of(const Plan& plan, SegmentId segment);
/// Whose pieces pass through `segment` on this rank; -1 where the rank does not hold it.
int replica_of(const Plan& plan, Rank rank, SegmentId segment);
/// The ranks that hold a stage, ascending: they reduce its gradients, and several of one replica share its pieces.
std::vector<Rank> holders(const Plan& plan, StageId stage);
/// Those of every stage, found at once. O(ranks + stages).
std::vector<std::vector<Rank>> holders(const Plan& plan);

/// The ranks of each stage that several hold, in stage order; none for a plan of one stage, which all ranks hold.
std::vector<std::vector<Rank>> reduction_groups(const Plan& plan);
/// [stage] -> the number of its group among them, from 1 as communicators count; 0, every rank, in a plan of one stage;
/// -1 where one rank holds the stage. O(ranks + stages): for asking once, not at every reduction.
std::vector<int> groups_by_stage(const Plan& plan);

int version_read(const VersionRule& rule, int step);
/// Updates that are complete once `step` has ended, and whether the last of them is due there.
int updates_by(const VersionRule& rule, int step);
bool is_update_due(const VersionRule& rule, int step);
/// The same by the plan's own rule for the stage.
int version_read(const Plan& plan, StageId stage, int step);
int updates_by(const Plan& plan, StageId stage, int step);
bool is_update_due(const Plan& plan, StageId stage, int step);

/// The step that graph:on captures: steps before it run operation by operation, since libraries choose algorithms and
/// take memory when first called, which a capture forbids.
inline constexpr int graph_capture_step = 3;
/// Steps of a case that a measurement discards where `warmup` are asked for: with graph:on the captured one among them.
int discarded_steps(const Case& spec, int warmup);

/// Whether some rank has an operation of this kind.
bool uses(const Plan& plan, OpKind kind);
/// Whether the rank sums gradients with other ranks.
bool reduces(const RankProgram& rank);

/// Sizes of `pieces` parts of `samples` that differ by one at most, larger ones first.
std::vector<int> split_evenly(int samples, int pieces);

/// The plan over `steps` steps. Synchronous: its single step repeated, versions and steps renumbered. Asynchronous: the
/// window's first `steps` mini-batches, which drain at the end; throws usage_error beyond the window.
Plan unroll(const Plan& plan, int steps);

}  // namespace parabench
