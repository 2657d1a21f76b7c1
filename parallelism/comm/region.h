// A flat, zeroed piece of memory that the ranks of one node share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace parabench::comm {

/// Owns one mapping. Reserving costs address space only; a part must be committed before it is touched.
class Region {
 public:
  /// For ranks that are threads of this process.
  static Region in_process(std::int64_t bytes);
  /// For ranks that are processes: a new object in POSIX shared memory under `name` ("/..."), visible until
  /// unlink_region(). It is locked while its creator lives, so that others can tell what a killed launch left
  /// behind.
  static Region create_shared(const std::string& name, std::int64_t bytes);
  static Region open_shared(const std::string& name, std::int64_t bytes);

  Region(Region&& other) noexcept;
  Region& operator=(Region&&) = delete;
  ~Region();

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

  /// Backs a part with memory, on the node of the calling thread; environment_error when there is too little.
  /// Committing twice is harmless. Without it, touching a page beyond the room in shared memory would raise
  /// SIGBUS.
  void commit(std::int64_t offset, std::int64_t bytes);

 private:
  Region(int file, std::byte* data, std::int64_t bytes) : file_(file), data_(data), bytes_(bytes) {}
  static Region map_shared(int file, const std::string& name, std::int64_t bytes);

  int file_;  // -1: memory of this process
  std::byte* data_;
  std::int64_t bytes_;
};

/// A name that no other launch uses.
std::string unique_region_name();
/// Takes the name away; the memory lives until the last mapping ends.
void unlink_region(const std::string& name) noexcept;
/// Unlinks regions whose creator was killed before it could, if at least so old: a young one may be about to be
/// locked. O(files in /dev/shm).
void sweep_stale_regions(int at_least_s_old = 10) noexcept;

/// Bytes free in the file system of POSIX shared memory; 0 when there is none.
std::int64_t shared_memory_available();
/// Why `needed` bytes do not fit into `available`, with the figures; empty when they do.
std::string shared_memory_obstacle(std::int64_t needed, std::int64_t available);

}  // namespace parabench::comm
