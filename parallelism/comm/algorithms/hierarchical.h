// Reductions in two steps: within each host, then between the hosts, where less then has to go.
#pragma once

#include <span>

#include "parallelism/comm/algorithms/transfers.h"

namespace parabench::comm {

/// As transfers_of. The members with the same place on their hosts form a lane; a host with fewer members than the
/// fullest has some that stand in several. A reduce_scatter first gathers, around a ring on each host, every lane's
/// bytes with the host's own member of the lane, then goes around the hosts in each lane; an all_gather goes the other
/// way, and an all_reduce is one after the other. Over a host's network goes what a ring of the hosts alone would send.
Transfers hierarchical(CollectiveKind kind, const Shares& shares, std::span<const int> hosts, int position);

/// Hosts, and members on the fullest.
struct HostCounts {
  int hosts = 0, fullest = 0;
};
HostCounts count_hosts(std::span<const int> hosts);

}  // namespace parabench::comm
