// On which hosts, and in which racks, of a data sheet the ranks of a case are.
#pragma once

#include <span>

#include "analytic/calibration/machine.h"
#include "base/case.h"
#include "base/placement.h"
#include "base/strong.h"

namespace parabench::analytic {

/// Where one host does not hold all ranks, the most that one holds: ranks on GPUs whose sheet has a network, which are
/// divided evenly among the sheet's hosts or, where it does not say how many, fill them one to a GPU. 0: one host holds
/// all.
int ranks_per_host(const MachineInfo& machine, const Case& spec);

/// The machine for ranks each of which stands for so many neighbours that do the same at the same time (key tp): a host
/// holds so many fewer, of whose NICs, and of the uplink of its rack, each has a neighbour's part. Hosts hold all of a
/// rank's neighbours, as far as they have GPUs for them.
MachineInfo machine_of_shards(MachineInfo machine, int neighbours);

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
