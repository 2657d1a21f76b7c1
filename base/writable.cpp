#include "base/writable.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace parabench {
namespace {

namespace fs = std::filesystem;

struct What {
  std::string_view option, path, expected;
};

[[noreturn]] void refuse(const What& what, int error) {
  throw unwritable(what.option, what.path, what.expected, error);
}

/// Makes a file with something in it, in a folder that is there, and removes it.
void try_file(const What& what, const fs::path& folder, const std::string& name) {
  const fs::path path = folder / fmt::format(".{}.{}.tmp", name, getpid());
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  // /proc has no such file and lets nobody make it.
  if (file < 0 && errno == ENOENT)
    throw environment_error(what.option, what.path, what.expected, "no file can be made in that folder");
  if (file < 0) refuse(what, errno);
  const bool written = write(file, "\n", 1) == 1;
  const int error = errno;
  close(file);
  unlink(path.c_str());
  if (!written) refuse(what, error);
}

}  // namespace

Error unwritable(std::string_view subject, std::string_view path, std::string_view expected, int error) {
  const bool impossible = error == ENOENT || error == ENOTDIR || error == EISDIR || error == EEXIST ||
                          error == ENAMETOOLONG || error == ELOOP;
  const std::string why = error == ENOENT   ? "make its folder first"
                          : error == EISDIR ? "it is a folder"
                                            : std::strerror(error);
  return (impossible ? usage_error : environment_error)(subject, path, expected, why);
}

void require_writable_file(std::string_view option, const std::string& path) {
  if (path.empty() || path == "-") return;
  const What what{option, path, "a file that can be written"};
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (fs::is_directory(there)) refuse(what, EISDIR);
  if (fs::exists(there) && access(path.c_str(), W_OK) != 0) refuse(what, errno);
  if (fs::exists(there) && !fs::is_regular_file(there)) return;
  // As write_atomically does: what a link leads to is replaced in its own folder.
  const fs::path target = fs::exists(there) ? fs::canonical(path) : fs::path(path);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) refuse(what, error ? error.value() : ENOTDIR);
  try_file(what, folder, target.filename());
}

void require_writable_folder(std::string_view option, const std::string& path) {
  if (path.empty()) return;
  const What what{option, path, "a folder that can be written"};
  std::error_code error;
  fs::create_directories(path, error);
  // /proc again: where they can be, all folders on the way are made.
  if (error.value() == ENOENT) throw environment_error(option, path, what.expected, "no folder can be made there");
  if (error) refuse(what, error.value());
  if (!fs::is_directory(path, error)) refuse(what, ENOTDIR);
  try_file(what, path, "parabench");
}

}  // namespace parabench
