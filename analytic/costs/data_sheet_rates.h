// What a rank may expect of a machine that was never measured: guesses; every number made of them is "data-sheet".
#pragma once

#include <span>

#include "analytic/calibration/machine.h"
#include "analytic/closed_forms/closed_forms.h"
#include "base/case.h"
#include "base/placement.h"
#include "base/strong.h"
#include "base/time_parts.h"

namespace parabench::analytic {

struct DataSheetRates {
  double flops_per_s = 0;        ///< of the layers, at the efficiency that training reaches
  double bytes_per_s = 0;        ///< of their maps and weights
  double state_bytes_per_s = 0;  ///< of gradients and updates
  double launch_s = 0;           ///< per operation of a layer and pass
  bool launches_ahead = false;   ///< launches hide behind work
  double sharing = 1;            ///< factor by which the ranks that compute slow each other down, bytes aside
  Link message;                  ///< between two ranks
};

/// While `busy_ranks` ranks compute.
DataSheetRates data_sheet_rates(const MachineInfo& machine, const Case& spec, int busy_ranks);

/// Ranks fill hosts in their order, as many to a host as it has GPUs, where the machine's sheet has a network and the
/// case runs on GPUs; else there is one host. `ranks` ascend. O(ranks).
GroupShape group_shape(const MachineInfo& machine, const Case& spec, std::span<const Rank> ranks);
/// From rank to rank, over the network between hosts, where a rank has a NIC to itself.
Link data_sheet_message(const MachineInfo& machine, const Case& spec, Rank from, Rank to);
/// One of 2 (p-1) steps of a ring over the ranks of a group, on average: between hosts it moves at the rate of the
/// slower of the host's own link and the group's part of its NICs, which is that of its ranks among the GPUs, since
/// the groups of the other ranks communicate at the same time.
Link data_sheet_ring(const MachineInfo& machine, const Case& spec, const GroupShape& shape);
/// An all-reduce of `bytes` by the case's algorithm (window, library: as a ring).
TimeParts data_sheet_all_reduce(const MachineInfo& machine, const Case& spec, const GroupShape& shape, double bytes);
/// The GPU that the case runs on; nullptr where none is known.
const GpuInfo* first_gpu(const MachineInfo& machine);
/// Its rates: those of the machine's sheet, else those of gpu_sheet().
const GpuRates& gpu_rates(const MachineInfo& machine);

}  // namespace parabench::analytic
