#include "analytic/costs/sheet_hosts.h"

#include <algorithm>
#include <cstdint>

#include "analytic/calibration/calibration.h"

namespace parabench::analytic {
namespace {

bool has_network(const MachineInfo& machine) { return machine.sheet && machine.sheet->network; }

int gpus_of_host(const MachineInfo& machine) {
  return machine.gpus.empty() ? machine.tensor_ranks : machine.gpus.front().count;
}
int tensor_ranks_on_host(const MachineInfo& machine) { return std::min(machine.tensor_ranks, gpus_of_host(machine)); }

/// Members of the group that is there now, and the most of any.
struct Most {
  int place = -1, here = 0, most = 0, places = 0;

  void add(int at) {
    here = at == place ? here + 1 : 1;
    if (at != place) ++places;
    place = at;
    most = std::max(most, here);
  }
};

}  // namespace

int ranks_per_host(const MachineInfo& machine, const Case& spec) {
  if (!has_network(machine) || measured_device(spec) != DeviceKind::cuda) return 0;
  const int hosts = std::min(machine.sheet->hosts, spec.np);
  return hosts == 0 ? std::max(1, gpus_of_host(machine) / machine.tensor_ranks) : (spec.np + hosts - 1) / hosts;
}

int hosts_of_rank(const MachineInfo& machine) { return 1 + (machine.tensor_ranks - 1) / gpus_of_host(machine); }

double nics_bytes_per_s(const MachineInfo& machine) {
  const HostNetwork& network = *machine.sheet->network;
  return network.nics * network.bytes_per_s / tensor_ranks_on_host(machine);
}

double message_bytes_per_s(const MachineInfo& machine, const Case& spec) {
  const double all = nics_bytes_per_s(machine);
  return measured_device(spec) == DeviceKind::cuda ? std::min(all, machine.sheet->network->bytes_per_s) : all;
}

double uplink_bytes_per_s(const MachineInfo& machine) {
  const HostRacks& racks = *machine.sheet->network->racks;
  const std::int64_t in_rack = std::int64_t{tensor_ranks_on_host(machine)} * racks.hosts;
  return racks.uplink_bytes_per_s / static_cast<double>(std::min<std::int64_t>(machine.tensor_ranks, in_rack));
}

int sheet_host(const MachineInfo& machine, const Case& spec, const Placement& placement, Rank rank) {
  if (!placement.host_of_rank.empty()) return host_of(placement, rank);
  const int per_host = ranks_per_host(machine, spec);
  if (per_host == 0) return 0;
  const int hosts = std::min(machine.sheet->hosts, spec.np);
  if (hosts == 0) return rank.value / per_host;
  // As in_blocks() has it: the first ones have one more.
  const int least = spec.np / hosts, more = spec.np % hosts, in_fuller = more * (least + 1);
  return rank.value < in_fuller ? rank.value / (least + 1) : more + (rank.value - in_fuller) / least;
}

int sheet_rack(const MachineInfo& machine, int host) {
  if (!has_network(machine) || !machine.sheet->network->racks) return 0;
  return host * hosts_of_rank(machine) / machine.sheet->network->racks->hosts;
}

GroupSpread group_spread(const MachineInfo& machine, const Case& spec, const Placement& placement,
                         std::span<const Rank> ranks) {
  const int members = static_cast<int>(ranks.size());
  if (!has_network(machine)) return {.shape = {.ranks = members}};
  Most hosts, racks;
  for (const Rank rank : ranks) {
    const int host = sheet_host(machine, spec, placement, rank);
    hosts.add(host);
    racks.add(sheet_rack(machine, host));
  }
  return {.shape = {.ranks = members, .hosts = hosts.places, .most = hosts.most},
          .racks = racks.places,
          .most_in_rack = racks.most};
}

}  // namespace parabench::analytic
