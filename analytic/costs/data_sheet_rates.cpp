#include "analytic/costs/data_sheet_rates.h"

#include <algorithm>

#include "analytic/calibration/calibration.h"
#include "analytic/costs/data_sheet_links.h"
#include "analytic/costs/gpu_sheet.h"
#include "analytic/costs/sheet_hosts.h"
#include "parallelism/plan/state/state_layout.h"

namespace parabench::analytic {
namespace {

constexpr double default_frequency_hz = 2.5e9;
constexpr int default_vector_bits = 256;
constexpr double node_bytes_per_s = 25e9;  // two channels of DDR4-2666 at host_memory_efficiency
constexpr double host_launch_s = 10e-6;
constexpr double host_memory_efficiency = 0.6;

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
  const int threads = std::min(threads_of_operation(spec), cores);
  const double turns = std::max(1.0, static_cast<double>(busy_ranks) * threads / cores);
  return {.flops_per_s = peak_efficiency * peak_flops(machine, spec),
          // Who waits for its turn moves nothing: in it a rank may draw what the others leave.
          .bytes_per_s = std::min(threads * core_bytes_per_s, turns * share),
          .state_bytes_per_s = std::min(core_bytes_per_s / turns, share),
          .launch_s = host_launch_s,
          .sharing = turns,
          .message = message_on_host(machine, spec)};
}

constexpr double gpu_launch_s = 10e-6;     // of an operation of torch, which is more than a kernel
constexpr double graph_launch_s = 1.5e-6;  // of a kernel in a CUDA graph, on the device

/// A GPU of its own for every rank, unless more ranks share those of this host, which NCCL refuses.
double sharing(const MachineInfo& machine, const Case& spec, int busy_ranks) {
  int gpus = 0;
  for (const GpuInfo& gpu : machine.gpus) gpus += gpu.count;
  if (gpus == 0 || spec.comm == CommKind::nccl || ranks_per_host(machine, spec) > 0) return 1;
  return std::max(1.0, static_cast<double>(busy_ranks) * machine.tensor_ranks / gpus);
}

DataSheetRates rates_on_gpu(const MachineInfo& machine, const Case& spec, int busy_ranks) {
  const GpuRates& rates = gpu_rates(machine);
  const double ranks = sharing(machine, spec, busy_ranks);
  return {.flops_per_s = peak_efficiency * peak_flops(rates, spec.precision),
          .bytes_per_s = peak_efficiency * rates.memory_bytes_per_s,
          .state_bytes_per_s = peak_efficiency * rates.memory_bytes_per_s / ranks,
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

}  // namespace parabench::analytic
