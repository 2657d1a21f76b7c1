#include "suite/launch/memory_kills.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/units_text.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

/// The number after `name` in a file of lines "name number"; -1 where there is none.
std::int64_t counter(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  for (std::int64_t number; file >> word >> number;)
    if (word == name) return number;
  return -1;
}

/// Files of this program's memory control group: its counters, and the bytes that it may use.
struct Group {
  fs::path counters, limit;
};

Group memory_group() {
  std::ifstream file("/proc/self/cgroup");
  Group found;
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers == "memory") {
      const fs::path folder = "/sys/fs/cgroup/memory" + path;
      return {folder / "memory.oom_control", folder / "memory.limit_in_bytes"};
    }
    if (controllers.empty()) {
      const fs::path folder = "/sys/fs/cgroup" + path;
      found = {folder / "memory.events", folder / "memory.max"};
    }
  }
  return found;
}

}  // namespace

MemoryKills memory_kills() {
  return {counter("/proc/vmstat", "oom_kill"), counter(memory_group().counters, "oom_kill")};
}

std::string killed_for_memory(const MemoryKills& before, const MemoryKills& after) {
  if (before.group >= 0 && after.group > before.group) {
    double limit = 0;
    std::ifstream(memory_group().limit) >> limit;
    const std::string most = limit > 0 && limit < 1e18 ? fmt::format(" of {}", human_bytes(limit)) : "";
    return fmt::format("the kernel killed a process for exceeding the memory limit{} of its control group", most);
  }
  if (before.host >= 0 && after.host > before.host)
    return "the kernel killed a process for lack of memory on this host";
  return "";
}

}  // namespace parabench::suite
