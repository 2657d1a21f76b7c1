#include "analytic/memory/resident.h"

#include <algorithm>

#include "parallelism/plan/state/state_layout.h"

namespace parabench::analytic {
namespace {

/// As the communicator of processes has it (make_mpi_communicator).
bool reduces_in_shared_memory(const Case& spec) {
  if (spec.comm != CommKind::mpi) return false;
  switch (spec.reduce) {
    case ReduceKind::automatic:
    case ReduceKind::window:
    case ReduceKind::hierarchical: return true;
    case ReduceKind::ring:
    case ReduceKind::halving_doubling:
    case ReduceKind::double_tree:
    case ReduceKind::library: return false;
  }
  return false;
}

/// Of the rank's largest group on its own host, itself among them.
std::int64_t members_here(const plan::Plan& plan, Rank rank) {
  std::int64_t most = 1;
  for (const plan::Lane& lane : plan.ranks[rank.value].lanes) {
    if (lane.key.kind != plan::LaneKind::collectives) continue;
    const auto here = [&](Rank member) { return on_one_host(plan.placement, member, rank); };
    most = std::max<std::int64_t>(most, std::ranges::count_if(plan.groups[lane.key.group.value].ranks, here));
  }
  return most;
}

}  // namespace

std::int64_t neighbours_bytes(const plan::Plan& plan, const Sizes& sizes, Rank rank) {
  const std::int64_t members = members_here(plan, rank);
  if (members == 1 || !reduces_in_shared_memory(plan.spec)) return 0;
  std::int64_t bytes = 0;
  for (const plan::StateArena& arena : plan::state_layout(plan, sizes.parameters(), rank).arenas)
    if (arena.exchanged) bytes += arena.bytes;
  return bytes / members * (members - 1);
}

std::int64_t resident_bytes(const plan::Plan& plan, const Sizes& sizes, std::int64_t process_bytes, Rank rank,
                            const MemoryUsage& counted) {
  if (process_bytes == 0) return 0;
  return process_bytes + counted.total_counted() + neighbours_bytes(plan, sizes, rank);
}

}  // namespace parabench::analytic
