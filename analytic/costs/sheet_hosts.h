// On which hosts, and in which racks, of a data sheet the ranks of a case are.
#pragma once

#include <span>

#include "analytic/calibration/machine.h"
#include "base/case.h"
#include "base/placement.h"
#include "base/strong.h"

namespace parabench::analytic {

/// Where one host does not hold all ranks, the most that one holds: ranks on GPUs whose sheet has a network, which are
/// divided evenly among the sheet's hosts or, where it does not say how many, fill them one to a GPU. Neighbours
/// (MachineInfo::neighbours) are not parted where a host has GPUs for all of them, so that some GPUs of each host may
/// stay idle; else they have as many hosts as they need (hosts_of_rank), of which this counts one. 0: one host holds
/// all.
int ranks_per_host(const MachineInfo& machine, const Case& spec);
/// Hosts that a rank takes with its neighbours: 1 unless these are more than the GPUs of a host.
int hosts_of_rank(const MachineInfo& machine);

/// Bytes per second one way, of the sheet's network, which has to be there, while neighbours send as well and have as
/// much: of a host's NICs together, of one message from this host, which from a GPU takes no more than a NIC, and of a
/// rack's uplink.
double host_bytes_per_s(const MachineInfo& machine);
double message_bytes_per_s(const MachineInfo& machine, const Case& spec);
double uplink_bytes_per_s(const MachineInfo& machine);

/// A plan's `placement` where it has one; else as ranks_per_host() has it.
int sheet_host(const MachineInfo& machine, const Case& spec, const Placement& placement, Rank rank);
/// Racks hold consecutive hosts; 0 where there are none.
int sheet_rack(const MachineInfo& machine, int host);

/// How the members of a group lie on hosts, and these in racks.
struct GroupSpread {
  GroupShape shape;
  int racks = 1;
  int most_in_rack = shape.ranks;  ///< members in the rack that has most of them
};
/// Of a machine whose sheet has no network: on one host. `ranks` ascend, as hosts do with them. O(ranks).
GroupSpread group_spread(const MachineInfo& machine, const Case& spec, const Placement& placement,
                         std::span<const Rank> ranks);

}  // namespace parabench::analytic
