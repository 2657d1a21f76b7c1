// What surrounds a run on this host: the cores it may use, its disks, what others take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "suite/machine/doctor.h"

namespace parabench::suite {

struct DiskRoom {
  std::string what;  ///< "temporary files (TMPDIR)"
  std::filesystem::path folder;
  bool writable = false;
  std::int64_t free_bytes = 0;
};

struct Surroundings {
  int online_cores = 0;               ///< logical ones that the kernel runs
  int allowed_cores = 0;              ///< of these, in this process' affinity mask
  int physical_cores = 0;             ///< behind the allowed ones: what mpirun counts as slots
  std::string cpuset;                 ///< the mask, "0-3,8"
  std::optional<double> quota_cores;  ///< processor time that the control group may use, in cores; nullopt: no limit
  std::vector<DiskRoom> disks;
};
Surroundings look_around_host();

/// Cores and binding, and room on disks.
std::vector<Check> surroundings_checks(const Surroundings& surroundings);

/// Processor time of all cores since the host booted, in ticks.
struct ProcessorTime {
  std::int64_t all = 0;
  std::int64_t stolen = 0;  ///< by other virtual machines
};
ProcessorTime processor_time();
/// Of the time between two looks.
double stolen_share(const ProcessorTime& before, const ProcessorTime& after);

}  // namespace parabench::suite
