#include "suite/machine/surroundings.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/cores.h"
#include "base/counted.h"
#include "base/units_text.h"
#include "suite/launch/control_group.h"
#include "suite/launch/launcher.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t enough_disk = 256LL << 20;
/// What a run of as many threads as there are cores leaves behind in the mean of a minute is below that.
constexpr double most_load_per_core = 1.25;

std::string allowed_list() {
  std::ifstream file("/proc/self/status");
  constexpr std::string_view name = "Cpus_allowed_list:";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const auto begin = line.find_first_not_of(" \t", name.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

/// Version 2 says "QUOTA PERIOD" or "max PERIOD", version 1 has a file for each and -1 for no limit.
std::optional<double> quota_cores() {
  const auto group = control_group("cpu");
  if (!group) return std::nullopt;
  double quota = -1, period = 0;
  if (group->version == 2) {
    std::ifstream(group->folder / "cpu.max") >> quota >> period;
  } else {
    std::ifstream(group->folder / "cpu.cfs_quota_us") >> quota;
    std::ifstream(group->folder / "cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

/// Those that clusters put under local folders; others (NFS, Lustre, GPFS, ...) may be shared.
std::string local_file_system(const fs::path& folder) {
  struct statfs found {};
  if (statfs(folder.c_str(), &found) != 0) return "";
  switch (found.f_type) {
    case TMPFS_MAGIC: return "tmpfs";
    case EXT4_SUPER_MAGIC: return "ext4";
    case XFS_SUPER_MAGIC: return "xfs";
    case BTRFS_SUPER_MAGIC: return "btrfs";
    case OVERLAYFS_SUPER_MAGIC: return "overlay";
    default: return "";
  }
}

DiskRoom room_of(std::string what, const fs::path& folder) {
  DiskRoom room{std::move(what), folder};
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) == 0)
    room.free_bytes = static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
  room.writable = access(folder.c_str(), W_OK) == 0;
  return room;
}

Check job_check(const Surroundings& s) {
  Check check{"job", CheckStatus::ok,
              fmt::format("{}: {} ({}), {}, {}", s.job.job, counted(s.job.hosts.size(), "host"),
                          fmt::join(s.job.hosts, ", "), counted(s.job.slots, "slot"), counted(s.job.cpus, "processor")),
              ""};
  if (!s.in_job) {
    check.status = CheckStatus::warning;
    check.found += "; this host is none of them, and what is told of it does not hold for them";
    check.advice = "a batch script, or srun --pty bash, runs on the job's first host";
  }
  return check;
}

Check cores_check(const Surroundings& s) {
  Check check{"cores", CheckStatus::ok,
              fmt::format("{} of {} logical cores ({}), {} physical", s.allowed_cores, s.online_cores, s.cpuset,
                          s.physical_cores),
              ""};
  if (s.quota_cores && *s.quota_cores < s.allowed_cores) {
    check.status = CheckStatus::warning;
    check.found += fmt::format("; the control group may use {:.1f} of them: more threads are halted in every period",
                               *s.quota_cores);
    check.advice = "np x threads of a case up to that number, or a larger quota (docker run --cpus=N)";
  } else if (s.allowed_cores < s.online_cores) {
    check.status = CheckStatus::warning;
    check.found += ": bound to a part of this host";
    check.advice = "taskset -p, or the job's --cpus-per-task, says why; ranks share what is allowed";
  }
  return check;
}

Check load_check(const Surroundings& s) {
  const std::string busy = busy_host(s.load, s.online_cores);
  if (busy.empty()) return {"load", CheckStatus::ok, fmt::format("{:.1f}, mean of the last minute", s.load), ""};
  return {"load", CheckStatus::warning, busy, "calibrate and measure when they are done"};
}

Check disk_check(const DiskRoom& room, bool several_hosts) {
  Check check{
      "disk", CheckStatus::ok,
      fmt::format("{} in {}, {}", human_bytes(static_cast<double>(room.free_bytes)), room.folder.string(), room.what),
      ""};
  if (!room.writable) {
    check.status = CheckStatus::warning;
    check.found += ": cannot be written";
    check.advice = "another folder: TMPDIR, XDG_CACHE_HOME, or --json in a folder of yours";
  } else if (room.free_bytes < enough_disk) {
    check.status = CheckStatus::warning;
    check.found += ": little room for plans, traces and records";
    check.advice = "free some, or set TMPDIR to another disk";
  } else if (several_hosts && !room.local.empty()) {
    check.status = CheckStatus::warning;
    check.found += fmt::format(": {} of this host alone, while all hosts of the job have to see it", room.local);
    check.advice = "a folder that they share, as the home folder mostly is: TMPDIR=$HOME/tmp";
  }
  return check;
}

}  // namespace

Surroundings look_around_host() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  Surroundings s;
  s.online_cores = online_cores();
  s.allowed_cores = CPU_COUNT(&allowed);
  s.physical_cores = this_host().slots;
  s.cpuset = allowed_list();
  s.quota_cores = quota_cores();
  s.load = load_average();
  s.job = this_allocation();
  s.in_job = runs_here(s.job);
  std::error_code ignored;
  s.disks.push_back(room_of("results (this folder)", fs::current_path(ignored)));
  s.disks.push_back(room_of("temporary files (TMPDIR)", fs::temp_directory_path(ignored)));
  s.disks.back().local = local_file_system(s.disks.back().folder);
  return s;
}

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

std::string busy_host(double load, int online_cores) {
  if (load <= most_load_per_core * online_cores) return "";
  return fmt::format(
      "this host was busy in the last minute (load average {:.1f}, {}): what still runs shows in "
      "the times",
      load, counted(online_cores, "core"));
}

std::vector<Check> surroundings_checks(const Surroundings& surroundings) {
  std::vector<Check> checks;
  if (!surroundings.job.job.empty()) checks.push_back(job_check(surroundings));
  checks.push_back(cores_check(surroundings));
  checks.push_back(load_check(surroundings));
  for (const DiskRoom& room : surroundings.disks) checks.push_back(disk_check(room, surroundings.job.hosts.size() > 1));
  return checks;
}

}  // namespace parabench::suite
