#include "parallelism/comm/region.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include "base/error.h"

namespace parabench::comm {
namespace {

constexpr std::string_view shared_folder = "/dev/shm";  // where Linux keeps POSIX shared memory (shm_overview(7))
constexpr std::string_view name_stem = "parabench-";

[[noreturn]] void too_little(std::string_view what, std::int64_t bytes, int error) {
  throw environment_error(what, fmt::format("{} bytes ({})", bytes, std::strerror(error)), "that much memory",
                          "a smaller model or fewer ranks");
}

}  // namespace

Region Region::in_process(std::int64_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) too_little("address space", bytes, errno);
  return Region(-1, static_cast<std::byte*>(data), bytes);
}

Region Region::create_shared(std::int64_t bytes) {
  const std::string folder(shared_folder);
  const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) too_little("shared memory " + folder, bytes, errno);
  flock(file, LOCK_EX | LOCK_NB);
  if (ftruncate(file, bytes) != 0) {
    const int error = errno;
    close(file);
    too_little("shared memory " + folder, bytes, error);
  }
  return map_shared(file, folder, bytes);
}

Region Region::open_shared(const std::string& path, std::int64_t bytes) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) too_little("shared memory " + path, bytes, errno);
  // The creator's process may be another one here: containers number theirs anew.
  struct stat found, home;
  if (fstat(file, &found) != 0 || stat(shared_folder.data(), &home) != 0 || found.st_dev != home.st_dev ||
      found.st_size != bytes) {
    close(file);
    throw environment_error("shared memory", path, fmt::format("a region of {} bytes", bytes));
  }
  return map_shared(file, path, bytes);
}

std::string Region::open_path() const { return fmt::format("/proc/{}/fd/{}", getpid(), file_); }

void Region::give_name(const std::string& path) const {
  if (linkat(AT_FDCWD, open_path().c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0)
    too_little("shared memory " + path, bytes_, errno);
}

Region Region::map_shared(int file, const std::string& path, std::int64_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (data == MAP_FAILED) {
    const int error = errno;
    close(file);
    too_little("shared memory " + path, bytes, error);
  }
  return Region(file, static_cast<std::byte*>(data), bytes);
}

Region::Region(Region&& other) noexcept
    : file_(std::exchange(other.file_, -1)), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

Region::~Region() {
  if (data_) munmap(data_, bytes_);
  if (file_ >= 0) close(file_);
}

void Region::commit(std::int64_t offset, std::int64_t bytes) {
  if (bytes == 0) return;
  int error = 0;
  if (file_ >= 0) {
    error = posix_fallocate(file_, offset, bytes);
  } else {
    const std::int64_t page = sysconf(_SC_PAGESIZE);
    const std::int64_t begin = offset / page * page;
    const std::int64_t length = (offset + bytes - begin + page - 1) / page * page;
    error = mprotect(data_ + begin, length, PROT_READ | PROT_WRITE) == 0 ? 0 : errno;
    madvise(data_ + begin, length, MADV_HUGEPAGE);
  }
  if (error != 0) too_little("memory of the ranks", bytes, error);
}

std::string unique_region_path() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return fmt::format("{}/{}{}-{:x}", shared_folder, name_stem, getpid(), now);
}

void unlink_region(const std::string& path) noexcept { unlink(path.c_str()); }

void sweep_stale_regions(int at_least_s_old) noexcept {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(shared_folder, error)) {
    if (!entry.path().filename().string().starts_with(name_stem)) continue;
    const int file = open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) continue;
    struct stat info;
    const bool old = fstat(file, &info) == 0 && std::time(nullptr) - info.st_ctime >= at_least_s_old;
    if (old && flock(file, LOCK_EX | LOCK_NB) == 0) unlink(entry.path().c_str());
    close(file);
  }
}

std::int64_t shared_memory_available() {
  struct statvfs info;
  if (statvfs(shared_folder.data(), &info) != 0) return 0;
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

std::string shared_memory_obstacle(std::int64_t needed, std::int64_t available) {
  if (needed <= available) return {};
  return fmt::format("shared memory has {} MiB free and the ranks need {} MiB; private buffers and MPI calls instead",
                     available >> 20, (needed + (1 << 20) - 1) >> 20);
}

}  // namespace parabench::comm
