#include "suite/knowledge.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace parabench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Beside the calibration: one file per machine and build of the program.
fs::path probe_path(const MachineInfo& machine, const fs::path& program) {
  struct stat info {};
  stat(program.c_str(), &info);
  const std::string build =
      fmt::format("{} {} {}.{}", program.string(), info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  return fs::path(default_calibration_path(machine)).parent_path() /
         fmt::format("probe-{}-{}.json", machine.id, hex16(fnv1a64(build)));
}

}  // namespace

CalibrationFile open_calibration(const std::string& given, const MachineInfo& machine, bool foreign_allowed) {
  CalibrationFile file{given.empty() ? default_calibration_path(machine) : given, std::nullopt};
  if (!fs::exists(file.path)) return file;
  try {
    file.content = calibration_from_json(read_json(file.path));
  } catch (const Error& error) {
    throw usage_error("calibration file", file.path.string(), "a calibration written by parabench calibrate",
                      fmt::format("{}; delete it to measure anew", error.what()));
  }
  if (!foreign_allowed && file.content->machine.id != machine.id) {
    throw usage_error(
        "calibration file",
        fmt::format("{} of machine {} ({})", file.path.string(), file.content->machine.id, file.content->machine.host),
        fmt::format("one of this machine, {}", machine.id), "leave out --calibration to measure this machine");
  }
  return file;
}

void add_to(CalibrationFile& file, const Calibration& newer) {
  if (file.content) {
    merge(*file.content, newer);
  } else {
    file.content = newer;
  }
  if (file.path.has_parent_path()) fs::create_directories(file.path.parent_path());
  write_atomically(file.path, to_json(*file.content).dump(1) + "\n");
}

std::optional<Capabilities> remembered_capabilities(const MachineInfo& machine, const fs::path& program) {
  try {
    return capabilities_from_json(read_json(probe_path(machine, program)));
  } catch (const Error&) {
    return std::nullopt;
  }
}

void remember(const Capabilities& capabilities, const MachineInfo& machine, const fs::path& program) {
  try {
    const fs::path path = probe_path(machine, program);
    fs::create_directories(path.parent_path());
    write_atomically(path, to_json(capabilities).dump(1) + "\n");
  } catch (const std::exception&) {
  }
}

}  // namespace parabench
