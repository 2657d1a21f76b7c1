// The control groups that this program runs in.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace parabench::suite {

struct ControlGroup {
  std::filesystem::path folder;  ///< of its files
  int version = 2;               ///< 1 or 2: they have other files
};

/// The group that holds the controller ("memory", "cpu"): that of version 1 where the controller is mounted so, else
/// that of version 2; nullopt where /proc/self/cgroup names neither. The folder need not be visible, in a container for
/// example.
std::optional<ControlGroup> control_group(std::string_view controller);

}  // namespace parabench::suite
