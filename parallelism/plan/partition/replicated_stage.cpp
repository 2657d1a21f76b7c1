#include "parallelism/plan/partition/replicated_stage.h"

#include <algorithm>

#include "parallelism/plan/partition/bisect.h"

namespace parabench::plan {
namespace {

/// The part of the period that falls as replicas are added to two.
double falling(const StageLoad& load, double m, const ReplicaLink& link) {
  const double weights = static_cast<double>(load.weight_bytes) / link.sum_bytes_per_s;
  const double transfer = 2 * static_cast<double>(load.input_bytes) / link.bytes_per_s;
  switch (link.sync) {
    case SyncModel::ring: return std::max(std::max(load.seconds, 2 * (m - 1) * weights / m) / m, transfer);
    case SyncModel::preprint: return std::max(std::max(load.seconds, 4 * (m - 1) * weights / m) / m, transfer);
    case SyncModel::sosp: return std::max(load.seconds / m, transfer);
    case SyncModel::code: return std::max(load.seconds + 4 * (m - 1) * weights / m, transfer) / m;
  }
  return 0;
}

/// The part that rises.
double rising(const StageLoad& load, double m, const ReplicaLink& link) {
  if (link.sync != SyncModel::sosp) return 0;
  return 2 * (m - 1) * static_cast<double>(load.weight_bytes) / link.sum_bytes_per_s / m;
}

}  // namespace

double stage_period(const StageLoad& load, int replicas, const ReplicaLink& link) {
  return std::max(falling(load, replicas, link), rising(load, replicas, link));
}

ReplicaRange replicas_within(const StageLoad& load, double bound, int most, const ReplicaLink& link, int guess) {
  // Two neighbouring numbers differ by 1/most^2 of a part at least, far above what rounding could turn round.
  const auto is_within = [&](std::int64_t m) {
    return m > most || falling(load, static_cast<double>(m), link) <= bound;
  };
  std::int64_t first = guess;
  if (!is_within(first)) {
    first = smallest(first + 1, most + 1, is_within);
  } else if (first > 2 && is_within(first - 1)) {
    first = smallest(2, first - 1, is_within);
  }
  if (link.sync != SyncModel::sosp) return {static_cast<int>(first), most};  // no part rises
  const auto beyond = smallest(
      first, most + 1, [&](std::int64_t m) { return m > most || rising(load, static_cast<double>(m), link) > bound; });
  return {static_cast<int>(first), static_cast<int>(beyond) - 1};
}

}  // namespace parabench::plan
