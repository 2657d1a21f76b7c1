#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json_text.h"
#include "base/writable.h"

namespace parabench {
namespace {

namespace fs = std::filesystem;

class FileDescriptor {
 public:
  FileDescriptor(const fs::path& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

Error read_failure(const fs::path& path, int error) {
  return usage_error("file", path.string(), "a readable file", std::strerror(error));
}

Error write_failure(const fs::path& path, int error) {
  return unwritable("output file", path.string(), "a path that can be written", error);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

std::string read_text(const fs::path& path) {
  const FileDescriptor file(path, O_RDONLY);
  if (!file.is_open()) throw read_failure(path, errno);
  std::string text;
  std::string block(1 << 16, '\0');
  while (true) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw read_failure(path, errno);
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

nlohmann::json read_json(const fs::path& path) { return parse_json(read_text(path), path.string()); }

void write_atomically(const fs::path& path, std::string_view text) {
  std::error_code ignored;
  const fs::path target = fs::exists(path, ignored) ? fs::canonical(path, ignored) : path;
  if (target.empty() || !target.has_filename() || fs::is_directory(target, ignored)) throw write_failure(path, EISDIR);
  if (fs::exists(target, ignored) && !fs::is_regular_file(target, ignored)) {
    const FileDescriptor device(target, O_WRONLY);
    if (!device.is_open() || !write_all(device.get(), text)) throw write_failure(path, errno);
    return;
  }
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const fs::path temporary = folder / fmt::format(".{}.{}.tmp", target.filename().string(), ::getpid());
  {
    const FileDescriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.is_open()) throw write_failure(path, errno);
    if (!write_all(file.get(), text) || ::fsync(file.get()) != 0 || ::rename(temporary.c_str(), target.c_str()) != 0) {
      const int error = errno;
      ::unlink(temporary.c_str());
      throw write_failure(path, error);
    }
  }
  // The rename itself must survive a crash too; some file systems refuse to sync a folder, which loses nothing else.
  const FileDescriptor directory(folder, O_RDONLY | O_DIRECTORY);
  if (directory.is_open()) ::fsync(directory.get());
}

}  // namespace parabench
