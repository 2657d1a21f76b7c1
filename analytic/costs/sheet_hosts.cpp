#include "analytic/costs/sheet_hosts.h"

#include <algorithm>

#include "analytic/calibration/calibration.h"

namespace parabench::analytic {
namespace {

bool has_network(const MachineInfo& machine) { return machine.sheet && machine.sheet->network; }

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
  return hosts == 0 ? machine.gpus.front().count : (spec.np + hosts - 1) / hosts;
}

MachineInfo machine_of_shards(MachineInfo machine, int neighbours) {
  if (machine.gpus.empty()) return machine;
  const int before = machine.gpus.front().count;
  for (GpuInfo& gpu : machine.gpus) gpu.count = std::max(1, gpu.count / neighbours);
  if (!has_network(machine)) return machine;
  HostNetwork& network = *machine.sheet->network;
  const double part = static_cast<double>(machine.gpus.front().count) / before, nics = part * network.nics;
  network.nics = std::max(1, static_cast<int>(nics));
  network.bytes_per_s *= nics / network.nics;
  if (network.racks) network.racks->uplink_bytes_per_s *= part;
  return machine;
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
  return has_network(machine) && machine.sheet->network->racks ? host / machine.sheet->network->racks->hosts : 0;
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
