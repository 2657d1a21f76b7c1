// What PipeDream's planner pays for a stage on several replicas.
//
// PipeDream (SOSP'19), its preprint (arXiv 1806.03377) and its code (msr-fiddle/pipedream) price the sum of gradients
// differently, and the answers differ with it: the variant belongs to the answer.
#pragma once

#include <cstdint>

namespace parabench::plan {

/// Seconds T of one mini-batch on m replicas, from C seconds of compute, w bytes of weights and B bytes/s:
enum class SyncModel {
  ring,      ///< max(C, 2(m-1)w / (mB)) / m: what a ring all-reduce moves
  preprint,  ///< max(C, 4(m-1)w / (mB)) / m
  sosp,      ///< max(C, 2(m-1)w / B) / m
  code,      ///< (C + 4(m-1)w / (mB)) / m: not hidden behind the compute
};

/// The links that a stage needs.
struct ReplicaLink {
  double bytes_per_s = 0;  ///< between neighbouring stages
  SyncModel sync = SyncModel::ring;
  double sum_bytes_per_s = bytes_per_s;  ///< B: between its replicas
};

/// One stage, for one mini-batch.
struct StageLoad {
  double seconds = 0;  ///< C: of passes and update on one replica
  std::int64_t weight_bytes = 0;
  std::int64_t input_bytes = 0;  ///< activations from the stage before; 0: there is none
};

/// Seconds between two mini-batches that a stage on `replicas` allows: the larger of T and the transfer of its input
/// and of that input's gradient at B' bytes/s, 2a/B' (`code`: spread over the replicas, 2a/(mB')).
double stage_period(const StageLoad& load, int replicas, const ReplicaLink& link);

/// The numbers of replicas first..last, none if first > last.
struct ReplicaRange {
  int first = 2;
  int last = 1;
};

/// All numbers from 2 to `most` whose period is at most `bound`; they are neighbours, in every variant. `guess`, from 2
/// to most + 1: of the first of them, or most + 1 if there are none. O(1) where it is right, else, and of `sosp`,
/// O(log most).
ReplicaRange replicas_within(const StageLoad& load, double bound, int most, const ReplicaLink& link, int guess = 2);

}  // namespace parabench::plan
