// PipeDream's planner: which layers form a stage and on how many devices each stage is replicated (Narayanan et al.,
// SOSP'19, section 3.1), so that a mini-batch leaves the pipeline as often as possible.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "parallelism/plan/partition/partition.h"
#include "parallelism/plan/partition/replicated_stage.h"

namespace parabench::plan {

/// A layer, for one mini-batch.
struct PlannerLayer {
  double seconds = 0;             ///< forward, backward and update on one device
  std::int64_t output_bytes = 0;  ///< activations for the next layer
  std::int64_t weight_bytes = 0;
  LayerBytes memory;  ///< read under a limit only; in flight: one mini-batch
};

/// `components` of the level below (devices, at the innermost one), joined at `bytes_per_s`.
struct TopologyLevel {
  int components = 1;
  double bytes_per_s = 0;
  std::vector<double> sum_bytes_per_s = {};  ///< likewise where 2, 3, ..., all of them sum; empty: `bytes_per_s`
};

struct ReplicationProblem {
  std::vector<PlannerLayer> layers;          ///< at least one
  std::vector<TopologyLevel> levels;         ///< from the inside out, at least one; a flat topology has one
  SyncModel sync = SyncModel::ring;          ///< changes the answers: record it
  std::optional<std::int64_t> device_bytes;  ///< memory limit, for flat topologies
  std::int64_t passing_bytes = 0;            ///< of it, for what comes and goes on every device
};

struct ReplicatedStage {
  int layers = 0;
  int replicas = 0;
  bool operator==(const ReplicatedStage&) const = default;
};

struct ReplicationPlan {
  std::vector<ReplicatedStage> stages;  ///< one: data parallelism
  double period_s = 0;                  ///< predicted seconds between mini-batches
  double data_parallel_period_s = 0;    ///< one stage on all devices, priced alike; may exceed the memory limit
};

/// The plan of smallest period among those that use every device, exactly:
///   A^k(i..j, m) = min( T^k(i..j, m), min over s, m' of max( A^k(i..s, m-m'), transfer, T^k(s+1..j, m') ) )
/// with T^k of `stage_period`, whose compute is A^(k-1)(i..j, m_(k-1)), the period of one component of level k.
/// Ties go to fewer stages, level by level from the outermost, then to the first in lexicographic order of (layers,
/// replicas). A stage within r components of a stage on r' of its components has r r' replicas in the answer.
///
/// Under a limit each device keeps the layers' fixed bytes and those in flight for ceil(R/r) mini-batches, R being the
/// devices of its stage and all behind it, r its stage's: the peak of 1F1B order with unequal replicas. (PipeDream's
/// code leaves the stage's own devices out of R, and the fixed bytes.)
///
/// N layers on m devices: O(N^2 m) for each of 63 questions; levels below the outermost O(N^3 m_k^2) besides.
/// Throws usage_error naming the smallest limit that has a plan, and for a limit with several levels.
ReplicationPlan plan_replication(const ReplicationProblem& problem);

}  // namespace parabench::plan
