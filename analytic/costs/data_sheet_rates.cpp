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
constexpr double node_bytes_per_s = 25e9;  // two channels of DDR4-2666 at .6
constexpr double host_launch_s = 10e-6;
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
  const double share = node_bytes_per_s / busy_ranks;
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

/// A GPU of its own for every rank, unless more ranks share those of this host, which NCCL refuses.
double sharing(const MachineInfo& machine, const Case& spec, int busy_ranks) {
  int gpus = 0;
  for (const GpuInfo& gpu : machine.gpus) gpus += gpu.count;
  return gpus == 0 || spec.comm == CommKind::nccl ? 1 : std::max(1.0, static_cast<double>(busy_ranks) / gpus);
}

/// NCCL from GPU to GPU; the others through pinned memory of the host.
Link message(const GpuSheet& sheet, const Case& spec) {
  if (spec.comm == CommKind::nccl) {
    return {.latency_s = message_latency_s, .bytes_per_s = efficiency * sheet.link_bytes_per_s};
  }
  return {.latency_s = 2 * copy_latency_s + mailbox.latency_s,
          .bytes_per_s = 1 / (2 / (efficiency * sheet.host_bytes_per_s) + 1 / mailbox.bytes_per_s)};
}

DataSheetRates gpu_rates(const MachineInfo& machine, const Case& spec, int busy_ranks) {
  const GpuSheet& sheet = gpu_sheet(first_gpu(machine));
  const double ranks = sharing(machine, spec, busy_ranks);
  return {.flops_per_s = efficiency * peak_flops(sheet, spec.precision),
          .bytes_per_s = efficiency * sheet.memory_bytes_per_s,
          .state_bytes_per_s = efficiency * sheet.memory_bytes_per_s / ranks,
          .launch_s = spec.graph ? graph_launch_s : gpu_launch_s,
          .launches_ahead = true,
          .sharing = ranks,
          .message = message(sheet, spec)};
}

}  // namespace

const GpuInfo* first_gpu(const MachineInfo& machine) { return machine.gpus.empty() ? nullptr : &machine.gpus.front(); }

DataSheetRates data_sheet_rates(const MachineInfo& machine, const Case& spec, int busy_ranks) {
  switch (measured_device(spec)) {
    case DeviceKind::cuda: return gpu_rates(machine, spec, busy_ranks);
    case DeviceKind::cpu:
    case DeviceKind::emulated: return cpu_rates(machine, spec, busy_ranks);
  }
  return {};
}

TimeParts data_sheet_all_reduce(const MachineInfo& machine, const Case& spec, int ranks, double bytes) {
  const auto seconds = [&](double n) {
    // On one host ranks are as far from each other as neighbours in a ring.
    const double on_host = all_reduce_by(spec.reduce, ranks, n, {mailbox.latency_s, core_bytes_per_s});
    if (measured_device(spec) != DeviceKind::cuda) return on_host;
    const GpuSheet& sheet = gpu_sheet(first_gpu(machine));
    if (spec.comm != CommKind::nccl) {
      return on_host + 2 * (copy_latency_s + n / (efficiency * sheet.host_bytes_per_s));
    }
    return ring_all_reduce(ranks, n, hop_latency_s, 1 / (efficiency * sheet.link_bytes_per_s), 0);
  };
  const double total = seconds(bytes), latency = seconds(0);
  return with_total({.latency = latency, .transfer = total - latency}, total);
}

}  // namespace parabench::analytic
