// What the data sheet says of a case: of ranks on this host, or on as many hosts like it as they take.
#pragma once

#include <memory>

#include "analytic/calibration/machine.h"
#include "analytic/costs/costs.h"

namespace parabench::analytic {

/// Ranks that a host is taken to hold for each of its cores at most. A run may have so many, which share the cores; who
/// asks for more asks about a cluster.
inline constexpr int most_ranks_per_core = 8;

/// Hosts like `machine` on which every rank of the case has a core for each of its threads, where one host does not
/// hold so many ranks, or where ranks divide layers (key tp); 1: it does, or the case's ranks compute on other devices
/// than the processor.
int hosts_of(const MachineInfo& machine, const Case& spec);

/// Another model's times for a case whose ranks are spread over hosts_of() hosts like `known`, which now have so many
/// `cores` each: cores() is 0, and an operation costs what it costs while all ranks of its own host are busy. Messages
/// and collectives between hosts cost what they cost within one.
std::unique_ptr<const TimeModel> spread_times(std::unique_ptr<const TimeModel> of_a_host, const MachineInfo& known,
                                              const Case& spec, int cores);

/// data_sheet_costs() of a case: spread over hosts where one does not hold its ranks, or where these divide layers (key
/// tp) on processors; of ranks on GPUs of their own, which NCCL wants, without cores that anybody would share.
Costs data_sheet_costs_of(const Case& spec, const MachineInfo& machine, const Sizes& sizes);
/// The same on a `machine` that differs from a `known` one, on whose hosts the ranks stay as they are there.
Costs data_sheet_costs_of(const Case& spec, const MachineInfo& machine, const Sizes& sizes, const RateFactors& faster,
                          const MachineInfo& known);

}  // namespace parabench::analytic
