// The machine that a calibration is of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace parabench::analytic {

/// GPUs of one kind.
struct GpuInfo {
  std::string name;    ///< as the driver calls it: "NVIDIA H200"
  int capability = 0;  ///< 10 * major + minor: 90 for H100 and H200
  std::int64_t memory_bytes = 0;
  int count = 1;
};

/// Peak rates of a GPU, dense.
struct GpuRates {
  double bf16_flops = 0, tf32_flops = 0, fp32_flops = 0, fp64_flops = 0;
  double memory_bytes_per_s = 0;
  double link_bytes_per_s = 0;  ///< one way to another GPU of the host: NVLink where there is one, else PCIe
  double host_bytes_per_s = 0;  ///< one way to the host, PCIe
  bool operator==(const GpuRates&) const = default;
};

/// Racks that are alike, of consecutive hosts.
struct HostRacks {
  int hosts = 1;                  ///< of each
  double uplink_bytes_per_s = 0;  ///< of a rack to all others, one way
  double latency_s = 0;           ///< of a message from one rack to another
};

/// What joins hosts that are alike.
struct HostNetwork {
  int nics = 1;                         ///< of a host
  double bytes_per_s = 0;               ///< of each, one way
  double latency_s = 0;                 ///< of a message from one host to another
  std::optional<HostRacks> racks = {};  ///< nullopt: any two hosts are as far from each other as any other two
};

/// What somebody's file says of a machine (hardware.h), where its parts' names would have to tell it.
struct HardwareSheet {
  std::string name;                    ///< of the file's content
  double memory_bytes_per_s = 0;       ///< peak, of the host's memory
  std::optional<GpuRates> gpu;         ///< of each; nullopt: no GPU
  std::optional<HostNetwork> network;  ///< nullopt: there is one host
  int hosts = 0;  ///< among which consecutive ranks are divided evenly; 0: ranks on GPUs fill as many as it takes
};

struct MachineInfo {
  std::string id;  ///< hash of cpu model, cores, memory and host name
  std::string host, cpu, governor;
  int cores = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t shared_memory_bytes = 0;
  double frequency_hz = 0;  ///< at the time of the look; 0: unknown
  int vector_bits = 0;      ///< widest float vector of the instruction set; 0: unknown
  std::vector<GpuInfo> gpus;
  /// Of the case that is predicted: so many ranks, on GPUs next to each other, divide layers (key tp) and do the same
  /// at the same time; a plan has one rank for them all. NICs, uplinks and GPUs they share in equal parts.
  int tensor_ranks = 1;
  std::optional<HardwareSheet> sheet;  ///< nullopt: a machine that was looked at
};

/// The calibration file of a machine: $XDG_CACHE_HOME/parabench/calibration-<id>.json (or ~/.cache).
std::string default_calibration_path(const MachineInfo& machine);
/// This host, from /proc, sysfs and statvfs; cores are those this process may run on.
MachineInfo this_machine();

}  // namespace parabench::analytic
