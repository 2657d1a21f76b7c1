// On which hosts, and in which racks, of a data sheet the ranks of a case are.
#pragma once

#include <span>

#include "analytic/calibration/machine.h"
#include "base/case.h"
#include "base/placement.h"
#include "base/strong.h"

namespace parabench::analytic {

/// Where one host does not hold all ranks, the most that one holds: ranks on GPUs whose sheet has a network, which are
/// divided evenly among the sheet's hosts or, where it does not say how many, fill them one to a GPU. Those that divide
/// layers (MachineInfo::tensor_ranks) are not parted where a host has GPUs for all of them, so that some GPUs of each
/// host may stay idle; else they have hosts_of_rank() hosts. 0: one host holds all.
int ranks_per_host(const MachineInfo& machine, const Case& spec);
/// Hosts that a plan's rank takes with those that it stands for: 1 unless these are more than the GPUs of a host.
int hosts_of_rank(const MachineInfo& machine);

// Bytes per second one way. Precondition of all: the machine's sheet has a network, of the last one: with racks.

/// The part of a host's NICs that one of those ranks has while all of them on the host send.
double nics_bytes_per_s(const MachineInfo& machine);
/// The same of one message, which from a GPU takes no more than a NIC.
double message_bytes_per_s(const MachineInfo& machine, const Case& spec);
/// The part of a rack's uplink that one of those ranks has while all of them in the rack send.
double uplink_bytes_per_s(const MachineInfo& machine);

/// A plan's `placement` where it has one; else as ranks_per_host() has it, the first of hosts_of_rank() counted alone.
int sheet_host(const MachineInfo& machine, const Case& spec, const Placement& placement, Rank rank);
/// Of a host by that number. Racks hold consecutive hosts; 0 where there are none.
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
