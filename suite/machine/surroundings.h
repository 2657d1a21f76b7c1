// What surrounds a run on this host: the job, the cores it may use, its disks, what others take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "suite/launch/allocation.h"
#include "suite/machine/doctor.h"

namespace parabench::suite {

struct DiskRoom {
  std::string what;  ///< "temporary files (TMPDIR)"
  std::filesystem::path folder;
  bool writable = false;
  std::int64_t free_bytes = 0;
  /// "tmpfs", "ext4", ...: a file system that other hosts do not see, of a folder that they have to see; else "".
  std::string local = {};
};

struct Surroundings {
  Allocation job;                     ///< of a batch system
  bool in_job = true;                 ///< this program runs on one of the job's hosts, or there is no job
  int online_cores = 0;               ///< logical ones that the kernel runs
  int allowed_cores = 0;              ///< of these, in this process' affinity mask
  int physical_cores = 0;             ///< behind the allowed ones: what mpirun counts as slots
  std::string cpuset;                 ///< the mask, "0-3,8"
  std::optional<double> quota_cores;  ///< processor time that the control group may use, in cores; nullopt: no limit
  double load = 0;                    ///< threads that ran or wanted to, mean of the last minute
  std::vector<DiskRoom> disks;
};
Surroundings look_around_host();

/// That more threads wanted to run on this host than it has cores, by a quarter at least, as a sentence; else "". Cores
/// are those of the whole host, as the load is, whatever part of them this process may use.
std::string busy_host(double load, int online_cores);
/// Threads of this host that ran or wanted to, mean of the last minute.
double load_average();

/// The job where there is one, cores and binding, load, room on disks and whether the job's hosts share what they must.
std::vector<Check> surroundings_checks(const Surroundings& surroundings);

}  // namespace parabench::suite
