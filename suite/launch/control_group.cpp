#include "suite/launch/control_group.h"

#include <fstream>
#include <string>

#include "base/split.h"

namespace parabench::suite {

std::optional<ControlGroup> control_group(std::string_view controller) {
  const std::string mounted = "/sys/fs/cgroup";
  std::ifstream file("/proc/self/cgroup");
  std::optional<ControlGroup> found;
  // Lines are NUMBER:CONTROLLERS:PATH; version 2 names no controllers.
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    for (const std::string_view name : split_at_commas(std::string_view(line).substr(first + 1, second - first - 1))) {
      if (name.empty()) found = {mounted + path, 2};
      if (name == controller) return ControlGroup{mounted + "/" + std::string(name) + path, 1};
    }
  }
  return found;
}

}  // namespace parabench::suite
