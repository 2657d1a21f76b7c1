#include "analytic/costs/data_sheet_links.h"

#include <algorithm>
#include <cstdint>

#include "analytic/calibration/calibration.h"
#include "analytic/costs/data_sheet_rates.h"

namespace parabench::analytic {
namespace {

constexpr double network_efficiency = 0.9;                                        // Calculon's, of InfiniBand
constexpr Link mailbox{.latency_s = 20e-6, .bytes_per_s = core_bytes_per_s / 2};  // copied in and out
constexpr double message_latency_s = 15e-6;                                       // Proteus' floor over NVLink
constexpr double hop_latency_s = 6e-6;    // of a ring: 8 A100 reduce 1 MiB in 92 us (vTrain)
constexpr double copy_latency_s = 10e-6;  // to or from the host, with its synchronisation

bool is_on_gpus(const Case& spec) { return measured_device(spec) == DeviceKind::cuda; }
bool is_by_nccl(const Case& spec) { return is_on_gpus(spec) && spec.comm == CommKind::nccl; }

/// There and back between a GPU and its host.
Link copies(const GpuRates& rates) {
  return {.latency_s = 2 * copy_latency_s, .bytes_per_s = peak_efficiency * rates.host_bytes_per_s / 2};
}

/// NCCL from GPU to GPU; the others through pinned memory of the host, whose ranks `hosts` joins.
Link gpu_message(const MachineInfo& machine, const Case& spec, const Link& by_nccl, const Link& hosts) {
  if (spec.comm == CommKind::nccl) return by_nccl;
  const Link copied = copies(gpu_rates(machine));
  return {.latency_s = copied.latency_s + hosts.latency_s,
          .bytes_per_s = 1 / (1 / copied.bytes_per_s + 1 / hosts.bytes_per_s)};
}

/// Neighbours in a ring on one host, of NCCL's from GPU to GPU.
Link ring_on_host(const MachineInfo& machine, const Case& spec) {
  if (is_by_nccl(spec))
    return {.latency_s = hop_latency_s, .bytes_per_s = peak_efficiency * gpu_rates(machine).link_bytes_per_s};
  return {.latency_s = mailbox.latency_s, .bytes_per_s = core_bytes_per_s};
}

/// Between neighbours of the group on different hosts, on average, where so many members of a host, and of a rack, send
/// over its links at once.
Link wire_of(const MachineInfo& machine, const Case& spec, const GroupSpread& group, int of_host, int of_rack) {
  const HostNetwork& network = *machine.sheet->network;
  const int host_ranks = ranks_per_host(machine, spec);  // on GPUs
  const double nics = host_ranks > 0 ? static_cast<double>(group.shape.most) / host_ranks : 1;
  Link wire{.latency_s = network.latency_s,
            .bytes_per_s = nics * network_efficiency * nics_bytes_per_s(machine) / of_host};
  if (group.racks == 1) return wire;
  const double hosts = std::max(1.0, static_cast<double>(network.racks->hosts) / hosts_of_rank(machine));
  const double uplink = host_ranks > 0 ? group.most_in_rack / (host_ranks * hosts) : 1;
  wire.bytes_per_s = std::min(wire.bytes_per_s, uplink * network_efficiency * uplink_bytes_per_s(machine) / of_rack);
  wire.latency_s += (group.racks - 1.0) / (group.shape.hosts - 1) * (network.racks->latency_s - network.latency_s);
  return wire;
}

/// Between neighbours of the group, on average.
Link link_of(const MachineInfo& machine, const Case& spec, const GroupSpread& group, int of_host, int of_rack) {
  const Link within = ring_on_host(machine, spec);
  if (group.shape.hosts == 1) return within;
  const Link between = wire_of(machine, spec, group, of_host, of_rack);
  const double hops = group.shape.ranks - 1, wires = group.shape.hosts - 1;
  return {.latency_s = ((hops - wires) * within.latency_s + wires * between.latency_s) / hops,
          .bytes_per_s = std::min(within.bytes_per_s, between.bytes_per_s)};
}

ReduceKind algorithm_on(const Case& spec, const GroupSpread& group, bool whole, double bytes) {
  // NCCL chooses by itself.
  return is_by_nccl(spec) ? ReduceKind::ring
                          : algorithm_of(spec.reduce, group.shape, whole, static_cast<std::int64_t>(bytes));
}

double all_reduce_seconds(const MachineInfo& machine, const Case& spec, const GroupSpread& group, ReduceKind by,
                          double bytes) {
  // The wire is the host's, which this formula divides among its ranks.
  if (by == ReduceKind::hierarchical && group.shape.hosts > 1)
    return hierarchical_all_reduce(group.shape.hosts, group.shape.most, bytes, ring_on_host(machine, spec),
                                   wire_of(machine, spec, group, 1, 1), 0);
  const bool all = sends_at_once(by);
  const Link link = link_of(machine, spec, group, all ? group.shape.most : 1, all ? group.most_in_rack : 1);
  return all_reduce_by(by, group.shape.ranks, bytes, link);
}

}  // namespace

Link message_on_host(const MachineInfo& machine, const Case& spec) {
  if (!is_on_gpus(spec)) return mailbox;
  const Link direct{.latency_s = message_latency_s,
                    .bytes_per_s = peak_efficiency * gpu_rates(machine).link_bytes_per_s};
  return gpu_message(machine, spec, direct, mailbox);
}

Link data_sheet_message(const MachineInfo& machine, const Case& spec, const Placement& placement, Rank from, Rank to) {
  const int host = sheet_host(machine, spec, placement, from), other = sheet_host(machine, spec, placement, to);
  if (host == other || !machine.sheet || !machine.sheet->network) return message_on_host(machine, spec);
  const HostNetwork& network = *machine.sheet->network;
  Link wire{.latency_s = network.latency_s, .bytes_per_s = network_efficiency * message_bytes_per_s(machine, spec)};
  if (sheet_rack(machine, host) != sheet_rack(machine, other))
    wire = {.latency_s = network.racks->latency_s,
            .bytes_per_s = std::min(wire.bytes_per_s, network_efficiency * uplink_bytes_per_s(machine))};
  return is_on_gpus(spec) ? gpu_message(machine, spec, wire, wire) : wire;
}

Link data_sheet_ring(const MachineInfo& machine, const Case& spec, const GroupSpread& group) {
  return link_of(machine, spec, group, 1, 1);
}

TimeParts data_sheet_all_reduce(const MachineInfo& machine, const Case& spec, const GroupSpread& group, bool whole,
                                double bytes) {
  const ReduceKind by = algorithm_on(spec, group, whole, bytes);
  const auto seconds = [&](double n) {
    const double summed = all_reduce_seconds(machine, spec, group, by, n);
    if (!is_on_gpus(spec) || is_by_nccl(spec)) return summed;
    const Link copied = copies(gpu_rates(machine));
    return summed + copied.latency_s + n / copied.bytes_per_s;
  };
  const double total = seconds(bytes), latency = seconds(0);
  return with_total({.latency = latency, .transfer = total - latency}, total);
}

}  // namespace parabench::analytic
