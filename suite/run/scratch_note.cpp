#include "suite/run/scratch_note.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string>

#include "base/file.h"
#include "base/host_name.h"
#include "suite/launch/launch.h"
#include "suite/launch/process.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

bool is_scratch_name(const std::string& name) {
  constexpr std::string_view beginning = scratch_pattern.substr(0, scratch_pattern.find('X'));
  return name.size() == scratch_pattern.size() && name.starts_with(beginning) &&
         std::all_of(name.begin() + beginning.size(), name.end(), [](unsigned char c) { return std::isalnum(c); });
}

/// A folder, and no link to one, that belongs to this user.
bool is_own_folder(const fs::path& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid();
}

}  // namespace

void tell_scratch(const fs::path& note, const fs::path& scratch) noexcept {
  try {
    write_atomically(note, fmt::format("{}\n{}\n", host_name(), fs::absolute(scratch).string()));
  } catch (const std::exception&) {
  }
}

void remove_told_scratch(const fs::path& note, Progress& progress) {
  std::ifstream file(note);
  std::string host, folder;
  if (!std::getline(file, host) || !std::getline(file, folder) || host != host_name()) return;
  const fs::path path = folder;
  if (!path.is_absolute() || !is_scratch_name(path.filename()) || !is_own_folder(path)) return;
  if (const auto users = processes_carrying(folder); !users.empty()) {
    progress.note(fmt::format("{} of the run that stopped stays: process {} uses it", folder, users.front()));
    return;
  }
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace parabench::suite
