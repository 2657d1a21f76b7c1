// A plan as data: which rank computes which run of layers for which micro-batch, in which order, and what is sent,
// reduced or updated in between. The same plan is simulated and executed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/case.h"
#include "base/placement.h"
#include "parallelism/plan/lane.h"
#include "parallelism/plan/mesh.h"

namespace parabench::plan {

/// A run of consecutive layers: the atom of the plan. One autograd call forward, one backward.
struct Segment {
  int first_layer = 0;
  int layers = 0;
  StageId stage;
  bool operator==(const Segment&) const = default;
};

/// Neighbouring segments of one stage: what is reduced, updated or gathered together.
struct SegmentRun {
  SegmentId first;
  int segments = 1;
  bool operator==(const SegmentRun&) const = default;
};

/// A stage whose weights, or one shard of them, a rank has. `replica`: the copy of the model that it belongs to, and so
/// the pieces of the batch that the rank computes.
struct Holding {
  StageId stage;
  ReplicaId replica;
  int shard = 0;  ///< place on the tensor axis: of Plan::shards that together are the stage
  bool operator==(const Holding&) const = default;
};

/// What one rank does: its operations, lane by lane.
struct RankProgram {
  std::vector<Holding> holds;          ///< ascending stages, each once
  int weight_versions = 1;             ///< ring slots of weights; 1: update in place
  int in_flight = 0;                   ///< most pairs of stage and micro-batch from forward to last backward; 0: any
  std::vector<Lane> lanes = {Lane{}};  ///< in the order of their keys: the compute lane first

  const std::vector<Op>& compute() const { return lanes.front().ops; }
  std::vector<Op>& compute() { return lanes.front().ops; }
  /// The operations of a lane; an empty one is made where there is none.
  std::vector<Op>& lane(const LaneKey& key);
  /// Index of a lane, -1 where there is none.
  int find_lane(const LaneKey& key) const;
  bool operator==(const RankProgram&) const = default;
};

/// Which weights step t reads: version max(0, t / steps_per_update - lag). The steps of one update add up their
/// gradients.
struct VersionRule {
  int lag = 0;
  int steps_per_update = 1;
  bool operator==(const VersionRule&) const = default;
};

/// The segments of two layers that share a tensor (ModelSpec::tie).
struct TiedSegments {
  SegmentId original, copy;
  bool shared = false;  ///< the same ranks hold both and have the tensor once, in the original's segment
  bool operator==(const TiedSegments&) const = default;
};

/// For how many runs a rank has room at a time, where it keeps but its share of each (buffers.h); 0: for all of them.
struct Room {
  int weights = 0;    ///< whole weights: gathered before they are read, from shares that stay
  int gradients = 0;  ///< whole gradients: updated before others take their place
  bool operator==(const Room&) const = default;
};

/// Weights that holders of a stage update each for itself, by the mean gradient of its own samples, and average now and
/// then. With a the weights that the last average left, m the mean of the members' and v, which starts as zeros:
/// d = a - m; v' = momentum v + d; the next weights are a - lr (d + momentum v'), which is DiLoCo's outer optimizer
/// (Douillard et al. 2023, arXiv 2311.08105). With lr 1 and momentum 0 they are m, and nothing is kept.
struct Averaging {
  int every = 0;  ///< steps from one average to the next; 0: gradients are summed, and weights never differ
  double lr = 1, momentum = 0;

  bool is_mean() const { return lr == 1 && momentum == 0; }
  /// Whether a step's weights are averaged.
  bool is_due(StepId step) const { return every > 0 && (step.value + 1) % every == 0; }
  bool operator==(const Averaging&) const = default;
};

struct Plan {
  Case spec;                      ///< the resolved case
  std::vector<Segment> segments;  ///< in layer order; neighbours of one stage adjacent
  std::vector<SkipPort> skips;    ///< ports 1, 2, ... (skip_ports.h), by tensor and the segment that takes it
  /// Ascending: whose output is statistics of a micro-batch (ElementKind::sums), which the holders of their stage add
  /// up for the next segment, and the gradients of these likewise.
  std::vector<SegmentId> statistics;
  int stages = 1;
  int replicas = 1;
  int shards = 1;                ///< parts that the tensor axis cuts each stage into
  std::vector<Group> groups;     ///< among whom collectives run, by id; equal ones stay apart
  int steps = 1;                 ///< steps in the window
  bool asynchronous = false;     ///< the window is one stream whose pipe does not drain between steps
  Room room;                     ///< of every rank
  Averaging averaging;           ///< of every stage
  bool scatters_pieces = false;  ///< each micro-batch's gradients are reduce-scattered, and shares of them added up
  std::vector<int> parts;     ///< by segment: into how many the sum of a run that begins there is cut; empty: none is
  bool updates_late = false;  ///< from step to step each update waits for the first pass that reads what it writes
  /// Who alone updates a stage; all other holders are its workers. By stage, or all that share the runs of the plan's
  /// one stage, ascending; empty: none.
  std::vector<Rank> servers;
  int taken = 0;         ///< workers whose gradients an update takes, those that come first (first_come.h); 0: all
  bool in_order = true;  ///< micro-batches pass each segment of a rank first in, first out
  std::vector<VersionRule> versions;     ///< of each stage (delay_rules.h); synchronous plans: no lag
  std::optional<TiedSegments> tie;       ///< none where no layers share a tensor
  std::vector<std::vector<int>> pieces;  ///< samples of micro-batch [replica][m]; sizes differ by one at most
  std::vector<RankProgram> ranks;
  /// Where they are, for whoever asks what takes how long: no part of the plan's file, hash or execution.
  Placement placement;
  bool operator==(const Plan&) const = default;
};

int micro_batches(const Plan& plan);  ///< per step and replica
int batch_samples(const Plan& plan);  ///< samples of one step over all replicas
/// Those of them that weights are updated by: all, or, where gradients that come too late are dropped, those of the
/// others.
int trained_samples(const Plan& plan);
/// Samples of one step over which the gradients of an update are the mean: of all replicas, of this one alone where
/// each updates its weights for itself, of those that are taken where some come too late.
int update_samples(const Plan& plan, ReplicaId replica);
/// Position of the first sample of piece (replica, m) within its step's batch; pieces lie one after the other,
/// replica by replica.
int piece_offset(const Plan& plan, ReplicaId replica, MicroBatchId m);
int samples_of(const Plan& plan, ReplicaId replica, MicroBatchId m);
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
/// How the rank holds a stage, nullptr where it does not.
const Holding* find_holding(const Plan& plan, Rank rank, StageId stage);
/// Whose pieces pass through `segment` on this rank; -1 where the rank does not hold it.
ReplicaId replica_of(const Plan& plan, Rank rank, SegmentId segment);
/// The ranks that hold a stage, ascending; several of one replica share its pieces, or its shards.
std::vector<Rank> holders(const Plan& plan, StageId stage);
/// Those of every stage, found at once. O(ranks + stages).
std::vector<std::vector<Rank>> holders(const Plan& plan);
/// The ranks that hold one shard of a stage, ascending: those whose gradients of it are to be summed.
std::vector<Rank> holders(const Plan& plan, StageId stage, int shard);

VersionId version_read(const VersionRule& rule, StepId step);
/// The version that the latest update has written once `step` has ended, and whether that update is due there.
VersionId updates_by(const VersionRule& rule, StepId step);
bool is_update_due(const VersionRule& rule, StepId step);
/// The same by the plan's own rule for the stage.
VersionId version_read(const Plan& plan, StageId stage, StepId step);
VersionId updates_by(const Plan& plan, StageId stage, StepId step);
bool is_update_due(const Plan& plan, StageId stage, StepId step);

/// The step that graph:on captures: steps before it run operation by operation, since libraries choose algorithms and
/// take memory when first called, which a capture forbids.
inline constexpr int graph_capture_step = 3;
/// Steps of a case that a measurement discards where `warmup` are asked for: with graph:on the captured one among them.
int discarded_steps(const Case& spec, int warmup);

/// What a run of `plan` discards and measures, in steps.
struct Window {
  int discarded = 0, measured = 0;
  int samples = 0;  ///< of the step time: the measured steps, or the rounds between two averages
  int round = 1;    ///< both are multiples of it
  int steps() const { return discarded + measured; }
};
/// Where `warmup` and `steps` are asked for: discarded_steps(), and both in whole rounds. A round is the plan's own
/// steps, since some of these average weights and others do not; of an asynchronous plan turns(), which are
/// not completed where they are those of replicas and more than twice `steps`. `plan`: as a strategy wrote it.
Window window(const Plan& plan, int warmup, int steps);

/// Whether the rank is one of the plan's servers.
bool is_server(const Plan& plan, Rank rank);
/// Ranks that compute passes: all but servers.
int computing_ranks(const Plan& plan);
/// Steps in which all that take turns have had theirs equally often: workers of servers of which every one makes
/// updates alone, and replicas of stages, which take the mini-batches by turns. 1 where none do; at most what an int
/// holds.
int turns(const Plan& plan);
/// Whether several servers share every run of the plan's one stage, so that each has a share of all tensors.
bool served_in_shares(const Plan& plan);
/// The servers of a stage; none where the plan has none.
std::span<const Rank> servers_of(const Plan& plan, StageId stage);
/// Whether a rank updates what it holds of a stage, or its share of that.
bool updates(const Plan& plan, Rank rank, StageId stage);

/// Whether some rank has an operation of this kind.
bool uses(const Plan& plan, OpKind kind);
/// Into how many parts the sum of a run from `first` on is cut; 1: into none.
int parts_of(const Plan& plan, SegmentId first);

/// Whether the gradients of the rank's parameters, or of a tied one alone, are summed with those of other ranks: by
/// collectives, compressed or not, or by a server.
bool reduces(const RankProgram& rank);

/// Whether it takes part in collectives that move this.
bool has_collectives(const RankProgram& rank, Payload purpose);

/// Sizes of `pieces` parts of `samples` that differ by one at most, larger ones first.
std::vector<int> split_evenly(int samples, int pieces);

/// The plan over `steps` steps. Synchronous: its steps, of which most plans have one, repeated as often as that takes
/// at least, versions and steps renumbered, in the order of unrolled_lane() (unrolled.h). Asynchronous: the window's
/// first `steps` mini-batches, which drain at the end; throws usage_error beyond the window.
Plan unroll(const Plan& plan, int steps);

}  // namespace parabench::plan
