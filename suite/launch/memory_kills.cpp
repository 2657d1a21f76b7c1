#include "suite/launch/memory_kills.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/units_text.h"
#include "suite/launch/control_group.h"

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
  const auto group = control_group("memory");
  if (!group) return {};
  if (group->version == 1) return {group->folder / "memory.oom_control", group->folder / "memory.limit_in_bytes"};
  return {group->folder / "memory.events", group->folder / "memory.max"};
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
