#include "suite/run/scratch_note.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string>
#include <vector>

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

std::vector<std::string> lines_of(const fs::path& note) {
  std::vector<std::string> lines;
  std::ifstream file(note);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// Whether the folder of a line is gone, or none that a run made.
bool is_settled(const std::string& line, Progress& progress) {
  const std::size_t tab = line.find('\t');
  if (tab == line.npos) return true;
  const std::string host = line.substr(0, tab), folder = line.substr(tab + 1);
  const fs::path path = folder;
  if (!path.is_absolute() || !is_scratch_name(path.filename())) return true;
  if (host != host_name()) {
    if (is_own_folder(path)) progress.note(fmt::format("{} of a run on {} stays: remove it there", folder, host));
    return false;
  }
  if (!is_own_folder(path)) return true;
  if (const auto users = processes_carrying(folder); !users.empty()) {
    progress.note(fmt::format("{} of the run that stopped stays: process {} uses it", folder, users.front()));
    return false;
  }
  std::error_code error;
  fs::remove_all(path, error);
  return !error;
}

}  // namespace

void take_over_scratch(const fs::path& note, const fs::path& scratch, Progress& progress) noexcept {
  try {
    std::vector<std::string> lines = lines_of(note);
    std::erase_if(lines, [&](const std::string& line) { return is_settled(line, progress); });
    lines.push_back(fmt::format("{}\t{}", host_name(), fs::absolute(scratch).string()));
    write_atomically(note, fmt::format("{}\n", fmt::join(lines, "\n")));
  } catch (const std::exception&) {
  }
}

}  // namespace parabench::suite
