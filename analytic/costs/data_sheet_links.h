// What messages and collectives take on a machine that was never measured.
#pragma once

#include "analytic/calibration/machine.h"
#include "analytic/closed_forms/closed_forms.h"
#include "analytic/costs/sheet_hosts.h"
#include "base/case.h"
#include "base/time_parts.h"

namespace parabench::analytic {

/// Between two ranks of a host.
Link message_on_host(const MachineInfo& machine, const Case& spec);
/// From rank to rank. Over the network between hosts a GPU has a NIC to itself, and processors all NICs of their host,
/// which the simulation shares among what passes; between racks no message is faster than the uplink, of which it has
/// all, since of consecutive ranks one at most sends from a rack to the next.
Link data_sheet_message(const MachineInfo& machine, const Case& spec, const Placement& placement, Rank from, Rank to);

/// One of 2 (p-1) steps of a ring over the ranks of a group, on average: between hosts it moves at the rate of the
/// slowest of the host's own link, the group's part of its NICs and, between racks, of the rack's uplink. Of GPUs the
/// part is that of its ranks among those of the host, or rack: the groups of the others communicate at the same time.
/// Processors have all of both, which the simulation shares moment by moment.
Link data_sheet_ring(const MachineInfo& machine, const Case& spec, const GroupSpread& group);

/// An all-reduce of `bytes` by the algorithm of the case (algorithm_of; window and library: as a ring), or where not
/// `whole` by that of its halves; of NCCL by a ring. Where all members send at once (sends_at_once), those of
/// a host share its part of the NICs, and those of a rack its part of the uplink.
TimeParts data_sheet_all_reduce(const MachineInfo& machine, const Case& spec, const GroupSpread& group, bool whole,
                                double bytes);

}  // namespace parabench::analytic
