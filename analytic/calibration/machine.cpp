#include "analytic/calibration/machine.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "base/cores.h"
#include "base/hash.h"
#include "base/host_name.h"

namespace parabench::analytic {
namespace {

/// Value of the first "key : value" line; empty where there is none.
std::string field(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(':');
    const auto value = line.find_first_not_of(" \t", colon == std::string::npos ? colon : colon + 1);
    if (value != std::string::npos) return line.substr(value);
  }
  return {};
}

std::string first_line(const char* path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

double number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

std::string cpu_name() {
  for (const char* key : {"model name", "Processor", "cpu model"}) {
    if (const std::string name = field("/proc/cpuinfo", key); !name.empty()) return name;
  }
  return "unknown";
}

/// The highest clock the system admits to, else the present one.
double frequency_hz() {
  const double khz = number(first_line("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"));
  return khz > 0 ? 1e3 * khz : 1e6 * number(field("/proc/cpuinfo", "cpu MHz"));
}

int vector_bits() {
  std::istringstream flags(field("/proc/cpuinfo", "flags") + ' ' + field("/proc/cpuinfo", "Features"));
  int bits = 0;
  for (std::string flag; flags >> flag;) {
    if (flag == "avx512f") bits = std::max(bits, 512);
    if (flag == "avx2") bits = std::max(bits, 256);
    if (flag == "sse2" || flag == "asimd") bits = std::max(bits, 128);
  }
  return bits;
}

int allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int counted = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  // A machine of more than 1,024 processors does not fit the set.
  return counted > 0 ? counted : online_cores();
}

std::int64_t shared_memory_bytes() {
  struct statvfs stat {};
  return statvfs("/dev/shm", &stat) == 0 ? static_cast<std::int64_t>(stat.f_blocks) * stat.f_frsize : 0;
}

}  // namespace

MachineInfo this_machine() {
  MachineInfo machine;
  machine.host = host_name();
  machine.cpu = cpu_name();
  machine.governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (machine.governor.empty()) machine.governor = "unknown";
  machine.cores = allowed_cores();
  machine.memory_bytes = static_cast<std::int64_t>(1024 * number(field("/proc/meminfo", "MemTotal")));
  machine.shared_memory_bytes = shared_memory_bytes();
  machine.frequency_hz = frequency_hz();
  machine.vector_bits = vector_bits();
  // Whole GiB: the kernel's own share, and with it MemTotal, changes from boot to boot.
  machine.id =
      hex16(fnv1a64(fmt::format("{}|{}|{}|{}", machine.cpu, machine.cores, machine.memory_bytes >> 30, machine.host)));
  return machine;
}

std::string default_calibration_path(const MachineInfo& machine) {
  std::string cache;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) {
    cache = xdg;
  } else {
    const char* home = std::getenv("HOME");
    const passwd* user = home && *home ? nullptr : getpwuid(geteuid());
    cache = fmt::format("{}/.cache", user ? user->pw_dir : home && *home ? home : "/tmp");
  }
  return fmt::format("{}/parabench/calibration-{}.json", cache, machine.id);
}

}  // namespace parabench::analytic
