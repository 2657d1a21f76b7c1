// The machine that a calibration is of.
#pragma once

#include <cstdint>
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

struct MachineInfo {
  std::string id;  ///< hash of cpu model, cores, memory and host name
  std::string host, cpu, governor;
  int cores = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t shared_memory_bytes = 0;
  double frequency_hz = 0;  ///< at the time of the look; 0: unknown
  int vector_bits = 0;      ///< widest float vector of the instruction set; 0: unknown
  std::vector<GpuInfo> gpus;
};

/// The calibration file of a machine: $XDG_CACHE_HOME/parabench/calibration-<id>.json (or ~/.cache).
std::string default_calibration_path(const MachineInfo& machine);
/// This host, from /proc, sysfs and statvfs; cores are those this process may run on.
MachineInfo this_machine();

}  // namespace parabench::analytic
