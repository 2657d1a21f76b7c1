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
  /// For ranks that are processes: a new object in POSIX shared memory. It has no name there, so that nothing stays
  /// behind, whenever its creator is killed.
  static Region create_shared(std::int64_t bytes);
  /// `path`: the creator's open_path(), or what it gave to give_name(). Throws environment_error where that is no
  /// region of this size.
  static Region open_shared(const std::string& path, std::int64_t bytes);

  Region(Region&& other) noexcept;
  Region& operator=(Region&&) = delete;
  ~Region();

  /// Where other processes find a shared region, among its creator's open files.
  std::string open_path() const;
  /// Makes a shared region visible under `path` until unlink_region(), for processes that cannot see its creator's open
  /// files (containers). It is locked while its creator lives, so that others can tell what a killed launch left
  /// behind.
  void give_name(const std::string& path) const;

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

  /// Backs a part with memory, on the node of the calling thread; environment_error when there is too little.
  /// Committing twice is harmless. Without it, touching a page beyond the room in shared memory would raise
  /// SIGBUS.
  void commit(std::int64_t offset, std::int64_t bytes);

 private:
  Region(int file, std::byte* data, std::int64_t bytes) : file_(file), data_(data), bytes_(bytes) {}
  static Region map_shared(int file, const std::string& path, std::int64_t bytes);

  int file_;  // -1: memory of this process
  std::byte* data_;
  std::int64_t bytes_;
};

/// A path in shared memory that no other launch uses.
std::string unique_region_path();
/// Takes the name away; the memory lives until the last mapping ends.
void unlink_region(const std::string& path) noexcept;
/// Unlinks regions whose creator was killed before it could, if at least so old: a young one may be about to be
/// locked. O(files in /dev/shm).
void sweep_stale_regions(int at_least_s_old = 10) noexcept;

/// Bytes free in the file system of POSIX shared memory; 0 when there is none.
std::int64_t shared_memory_available();
/// Why `needed` bytes do not fit into `available`, with the figures; empty when they do.
std::string shared_memory_obstacle(std::int64_t needed, std::int64_t available);

}  // namespace parabench::comm
