#include "analytic/costs/data_sheet_rates.h"

#include <algorithm>

#include "analytic/calibration/calibration.h"
#include "analytic/costs/gpu_sheet.h"
#include "parallelism/plan/state/state_layout.h"

namespace parabench::analytic {
namespace {

constexpr double efficiency = 0.75;  // PyTorch RuntimeEstimator; of bandwidths Calculon's at 10 MB

constexpr double default_frequency_hz = 2.5e9;
constexpr int default_vector_bits = 256;
constexpr double core_bytes_per_s = 10e9;  // what one core draws from memory
constexpr double node_bytes_per_s = 25e9;  // two channels of DDR4-2666 at host_memory_efficiency
constexpr double host_launch_s = 10e-6;
constexpr double host_memory_efficiency = 0.6;
constexpr double network_efficiency = 0.9;                                        // Calculon's, of InfiniBand
constexpr Link mailbox{.latency_s = 20e-6, .bytes_per_s = core_bytes_per_s / 2};  // copied in and out

/// Two fused multiply-add units per core; fp64 halves the lanes of a vector.
double peak_flops(const MachineInfo& machine, const Case& spec) {
  const double frequency = machine.frequency_hz > 0 ? machine.frequency_hz : default_frequency_hz;
  const int bits = machine.vector_bits > 0 ? machine.vector_bits : default_vector_bits;
  const double lanes = bits / (8.0 * plan::parameter_bytes(spec.precision));
  return std::min(threads_of_operation(spec), std::max(1, machine.cores)) * frequency * lanes * 2 * 2;
}

DataSheetRates cpu_rates(const MachineInfo& machine, const Case& spec, int busy_ranks) {
  const int cores = std::max(1, machine.cores);
  const double node = machine.sheet ? host_memory_efficiency * machine.sheet->memory_bytes_per_s : node_bytes_per_s;
  const double share = node / busy_ranks;
  return {
      .flops_per_s = efficiency * peak_flops(machine, spec),
      .bytes_per_s = std::min(threads_of_operation(spec) * core_bytes_per_s, share),
      .state_bytes_per_s = std::min(core_bytes_per_s, share),
      .launch_s = host_launch_s,
      .sharing = std::max(1.0, static_cast<double>(busy_ranks) * std::min(threads_of_operation(spec), cores) / cores),
      .message = mailbox};
}

constexpr double gpu_launch_s = 10e-6;       // of an operation of torch, which is more than a kernel
constexpr double graph_launch_s = 1.5e-6;    // of a kernel in a CUDA graph, on the device
constexpr double message_latency_s = 15e-6;  // Proteus' floor over NVLink
constexpr double hop_latency_s = 6e-6;       // of a ring: 8 A100 reduce 1 MiB in 92 us (vTrain)
constexpr double copy_latency_s = 10e-6;     // to or from the host, with its synchronisation

/// Of GPUs: as many ranks as a host takes; 0: there is one host, which takes all.
int ranks_per_host(const MachineInfo& machine, const Case& spec) {
  const bool several = machine.sheet && machine.sheet->network && measured_device(spec) == DeviceKind::cuda;
  return several ? machine.gpus.front().count : 0;
}

/// A GPU of its own for every rank, unless more ranks share those of this host, which NCCL refuses.
double sharing(const MachineInfo& machine, const Case& spec, int busy_ranks) {
  int gpus = 0;
  for (const GpuInfo& gpu : machine.gpus) gpus += gpu.count;
  if (gpus == 0 || spec.comm == CommKind::nccl || ranks_per_host(machine, spec) > 0) return 1;
  return std::max(1.0, static_cast<double>(busy_ranks) / gpus);
}

/// There and back between a GPU and its host.
Link copies(const GpuRates& rates) {
  return {.latency_s = 2 * copy_latency_s, .bytes_per_s = efficiency * rates.host_bytes_per_s / 2};
}

/// NCCL from GPU to GPU; the others through pinned memory of the host, whose ranks `hosts` joins.
Link gpu_message(const MachineInfo& machine, const Case& spec, const Link& by_nccl, const Link& hosts) {
  if (spec.comm == CommKind::nccl) return by_nccl;
  const Link copied = copies(gpu_rates(machine));
  return {.latency_s = copied.latency_s + hosts.latency_s,
          .bytes_per_s = 1 / (1 / copied.bytes_per_s + 1 / hosts.bytes_per_s)};
}

Link message_on_host(const MachineInfo& machine, const Case& spec) {
  if (measured_device(spec) != DeviceKind::cuda) return mailbox;
  const Link direct{.latency_s = message_latency_s, .bytes_per_s = efficiency * gpu_rates(machine).link_bytes_per_s};
  return gpu_message(machine, spec, direct, mailbox);
}

DataSheetRates rates_on_gpu(const MachineInfo& machine, const Case& spec, int busy_ranks) {
  const GpuRates& rates = gpu_rates(machine);
  const double ranks = sharing(machine, spec, busy_ranks);
  return {.flops_per_s = efficiency * peak_flops(rates, spec.precision),
          .bytes_per_s = efficiency * rates.memory_bytes_per_s,
          .state_bytes_per_s = efficiency * rates.memory_bytes_per_s / ranks,
          .launch_s = spec.graph ? graph_launch_s : gpu_launch_s,
          .launches_ahead = true,
          .sharing = ranks,
          .message = message_on_host(machine, spec)};
}

}  // namespace

const GpuInfo* first_gpu(const MachineInfo& machine) { return machine.gpus.empty() ? nullptr : &machine.gpus.front(); }

const GpuRates& gpu_rates(const MachineInfo& machine) {
  return machine.sheet && machine.sheet->gpu ? *machine.sheet->gpu : gpu_sheet(first_gpu(machine)).rates;
}

DataSheetRates data_sheet_rates(const MachineInfo& machine, const Case& spec, int busy_ranks) {
  switch (measured_device(spec)) {
    case DeviceKind::cuda: return rates_on_gpu(machine, spec, busy_ranks);
    case DeviceKind::cpu:
    case DeviceKind::emulated: return cpu_rates(machine, spec, busy_ranks);
  }
  return {};
}

GroupShape group_shape(const MachineInfo& machine, const Case& spec, std::span<const Rank> ranks) {
  const int members = static_cast<int>(ranks.size()), per_host = ranks_per_host(machine, spec);
  if (per_host == 0) return {members, 1, members};
  GroupShape shape{members, 0, 0};
  for (int host = -1, here = 0; const Rank rank : ranks) {
    here = rank.value / per_host == host ? here + 1 : 1;
    if (here == 1) ++shape.hosts;
    host = rank.value / per_host;
    shape.most = std::max(shape.most, here);
  }
  return shape;
}

Link data_sheet_message(const MachineInfo& machine, const Case& spec, Rank from, Rank to) {
  const int per_host = ranks_per_host(machine, spec);
  if (per_host == 0 || from.value / per_host == to.value / per_host) return message_on_host(machine, spec);
  const HostNetwork& network = *machine.sheet->network;
  const Link wire{.latency_s = network.latency_s, .bytes_per_s = network_efficiency * network.bytes_per_s};
  return gpu_message(machine, spec, wire, wire);
}

namespace {

/// Neighbours in a ring on one host, of NCCL's from GPU to GPU.
Link ring_on_host(const MachineInfo& machine, const Case& spec) {
  if (measured_device(spec) == DeviceKind::cuda && spec.comm == CommKind::nccl)
    return {.latency_s = hop_latency_s, .bytes_per_s = efficiency * gpu_rates(machine).link_bytes_per_s};
  return {.latency_s = mailbox.latency_s, .bytes_per_s = core_bytes_per_s};
}

/// The group's part of a host's NICs.
Link wire_of(const MachineInfo& machine, const GroupShape& shape) {
  const HostNetwork& network = *machine.sheet->network;
  const double part = static_cast<double>(shape.most) / machine.gpus.front().count;
  return {.latency_s = network.latency_s,
          .bytes_per_s = part * network_efficiency * network.nics * network.bytes_per_s};
}

double all_reduce_seconds(const MachineInfo& machine, const Case& spec, const GroupShape& shape, double bytes) {
  const Link ring = data_sheet_ring(machine, spec, shape);
  // NCCL chooses by itself.
  if (measured_device(spec) == DeviceKind::cuda && spec.comm == CommKind::nccl)
    return all_reduce_by(ReduceKind::ring, shape.ranks, bytes, ring);
  // The wire is the host's, which this formula divides among its ranks.
  if (spec.reduce == ReduceKind::hierarchical && shape.hosts > 1)
    return hierarchical_all_reduce(shape.hosts, shape.most, bytes, ring_on_host(machine, spec), wire_of(machine, shape),
                                   0);
  return all_reduce_by(spec.reduce, shape.ranks, bytes, ring);
}

}  // namespace

Link data_sheet_ring(const MachineInfo& machine, const Case& spec, const GroupShape& shape) {
  const Link within = ring_on_host(machine, spec);
  if (shape.hosts == 1) return within;
  const Link between = wire_of(machine, shape);
  const double hops = shape.ranks - 1, wires = shape.hosts - 1;
  return {.latency_s = ((hops - wires) * within.latency_s + wires * between.latency_s) / hops,
          .bytes_per_s = std::min(within.bytes_per_s, between.bytes_per_s)};
}

TimeParts data_sheet_all_reduce(const MachineInfo& machine, const Case& spec, const GroupShape& shape, double bytes) {
  const bool staged = measured_device(spec) == DeviceKind::cuda && spec.comm != CommKind::nccl;
  const auto seconds = [&](double n) {
    const double summed = all_reduce_seconds(machine, spec, shape, n);
    if (!staged) return summed;
    const Link copied = copies(gpu_rates(machine));
    return summed + copied.latency_s + n / copied.bytes_per_s;
  };
  const double total = seconds(bytes), latency = seconds(0);
  return with_total({.latency = latency, .transfer = total - latency}, total);
}

}  // namespace parabench::analytic
