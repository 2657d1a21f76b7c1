#include "suite/machine/knowledge.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "analytic/calibration/combine.h"
#include "analytic/hardware/hardware.h"
#include "base/called.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "suite/launch/launch.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// What decides which GPUs a process sees: the driver, and what a user or a job scheduler shows it of them.
std::string sight_of_gpus() {
  std::string sight = nvidia_driver();
  for (const char* variable : {"CUDA_VISIBLE_DEVICES", "SLURM_JOB_GPUS"}) {
    const char* value = std::getenv(variable);
    sight += fmt::format("|{}", value ? value : "all");
  }
  return sight;
}

/// Beside the calibration: one file per machine, build of the program and sight of the GPUs.
fs::path probe_path(const analytic::MachineInfo& machine, const fs::path& program) {
  struct stat info {};
  stat(program.c_str(), &info);
  const std::string build = fmt::format("{} {} {}.{} {}", program.string(), info.st_size, info.st_mtim.tv_sec,
                                        info.st_mtim.tv_nsec, sight_of_gpus());
  return fs::path(analytic::default_calibration_path(machine)).parent_path() /
         fmt::format("probe-{}-{}.json", machine.id, hex16(fnv1a64(build)));
}

/// While it lives, no other parabench adds to a calibration of the folder. Where a folder cannot be locked, as on some
/// network file systems, nobody waits; nor for long for one that was stopped while it had the lock.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : descriptor_(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    for (int attempt = 0; attempt < 50 && descriptor_ >= 0; ++attempt) {
      if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) break;
      usleep(20'000);
    }
  }
  ~FolderLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

/// What others may have added since the file was opened; nullopt where there is no such file of this machine.
std::optional<analytic::Calibration> written_by_now(const fs::path& path, const analytic::MachineInfo& machine) {
  try {
    analytic::Calibration written = analytic::read_calibration(path);
    return written.machine.id == machine.id ? std::optional(std::move(written)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::string nvidia_driver() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  return line;
}

std::string to_calibrate(const CalibrationFile& file, std::string_view options) {
  std::string words = "calibrate CASE";
  if (!options.empty()) words.append(" ").append(options);
  if (file.is_given) words.append(" --out ").append(file.path.string());
  return to_type(words);
}

CalibrationFile open_calibration(const std::string& given, const analytic::MachineInfo& machine, bool only_read) {
  CalibrationFile file{.path = given.empty() ? analytic::default_calibration_path(machine) : given,
                       .content = std::nullopt,
                       .is_given = !given.empty()};
  std::error_code hidden;
  if (!fs::exists(file.path, hidden)) {
    if (!given.empty() && hidden && hidden != std::errc::not_a_directory)
      throw usage_error("--calibration", given, "a file that can be read", hidden.message());
    if (!given.empty() && only_read)
      throw usage_error("--calibration", given, "a calibration file",
                        to_type(fmt::format("calibrate CASE --out {} makes one", given)));
    return file;
  }
  try {
    file.content = analytic::read_calibration(file.path);
  } catch (const Error& error) {
    throw usage_error(
        "calibration file", file.path.string(), "a calibration written by parabench calibrate",
        fmt::format("{}; or {}", error.what(),
                    given.empty() ? "delete it to measure anew"
                                  : "name another file, or none: " + to_type("calibrate CASE --out FILE makes one")));
  }
  if (!only_read) require_calibration_of(machine, file);
  return file;
}

void require_calibration_of(const analytic::MachineInfo& machine, const CalibrationFile& file) {
  if (!file.content || file.content->machine.id == machine.id) return;
  throw usage_error(
      "calibration file",
      fmt::format("{} of machine {} ({})", file.path.string(), file.content->machine.id, file.content->machine.host),
      fmt::format("one of this machine, {}", machine.id), "leave out --calibration to measure this machine");
}

Knowledge knowledge_of(const analytic::MachineInfo& machine, const CalibrationFile& file,
                       const analytic::EmulatedCosts& emulated, const std::map<int, Placement>& placements) {
  return {machine, file.content ? &*file.content : nullptr, emulated, placements};
}

std::vector<std::string> add_to(CalibrationFile& file, const analytic::Calibration& launch) {
  // What could not be written is known to this program alone.
  const FolderLock lock(file.path.parent_path());
  const auto now = file.starts_over || !file.unkept.empty() ? std::nullopt : written_by_now(file.path, launch.machine);
  if (now) file.content = *now;
  if (file.starts_over) file.content.reset();
  file.starts_over = false;
  if (!file.content) file.content.emplace();
  const std::vector<std::string> left_out = analytic::merge(*file.content, launch);
  try {
    analytic::write_calibration(*file.content, file.path);
  } catch (const Error& error) {
    if (file.must_be_kept) throw;
    file.unkept = error.what();
  }
  return left_out;
}

std::vector<analytic::GpuInfo> gpu_kinds(const protocol::Offer& capabilities) {
  std::vector<analytic::GpuInfo> kinds;
  if (!capabilities.gpu) return kinds;
  for (const results::HostGpu& gpu : capabilities.gpu->gpus) {
    const auto same = std::ranges::find_if(kinds, [&](const analytic::GpuInfo& kind) {
      return kind.name == gpu.name && kind.capability == gpu.capability && kind.memory_bytes == gpu.memory_bytes;
    });
    if (same != kinds.end()) {
      ++same->count;
    } else {
      kinds.push_back({gpu.name, gpu.capability, gpu.memory_bytes, 1});
    }
  }
  return kinds;
}

std::optional<protocol::Offer> remembered_capabilities(const analytic::MachineInfo& machine, const fs::path& program) {
  try {
    const fs::path path = probe_path(machine, program);
    return protocol::offer_from_json(JsonReader(read_json(path), path.string()));
  } catch (const Error&) {
    return std::nullopt;
  }
}

void remember(const protocol::Offer& capabilities, const analytic::MachineInfo& machine, const fs::path& program) {
  try {
    const fs::path path = probe_path(machine, program);
    fs::create_directories(path.parent_path());
    write_atomically(path, protocol::to_json(capabilities).dump(1) + "\n");
  } catch (const std::exception&) {
  }
}

analytic::MachineInfo known_machine() {
  analytic::MachineInfo machine = analytic::this_machine();
  try {
    const auto program = find_rank_program();
    const auto known = program ? remembered_capabilities(machine, *program) : std::nullopt;
    if (known) machine.gpus = gpu_kinds(*known);
  } catch (const Error&) {
    // PARABENCH_RANK names no program: a command without ranks does without.
  }
  return machine;
}

Target target_of(const std::string& hardware, const std::string& calibration, Progress& progress) {
  if (!hardware.empty()) return {analytic::find_hardware(hardware).machine, {}};
  Target target{known_machine(), {}};
  target.file = open_calibration(calibration, target.machine, true);
  const auto& content = target.file.content;
  if (content && content->machine.id != target.machine.id) {
    target.machine = content->machine;
    progress.note(
        fmt::format("predictions are for {} ({}), whose calibration this is", target.machine.host, target.machine.cpu));
  }
  return target;
}

void check_target(const std::string& hardware, const std::string& calibration) {
  if (hardware.empty() || calibration.empty()) return;
  throw usage_error("--hardware", hardware, "no --calibration beside it: a data sheet was not calibrated");
}

}  // namespace parabench::suite
