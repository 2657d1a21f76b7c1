// PyTorch's caching allocator of GPU memory on paper: what it reserves for a sequence of tensors.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "analytic/memory/free_blocks.h"

namespace parabench::analytic {

/// Part of a segment that was handed out.
struct DeviceBlock {
  std::int64_t address = 0;  ///< on a device whose segments never touch nor come back
  std::int64_t bytes = 0;    ///< the request rounded up, with a remainder too small to split off
  int number = 0;            ///< the allocator's own of it, as long as it is handed out
};

struct AllocatorUsage {
  std::int64_t allocated = 0, allocated_peak = 0;  ///< bytes of the blocks handed out
  std::int64_t reserved = 0, reserved_peak = 0;    ///< bytes of the segments taken from the device
  int retries = 0;                                 ///< times that cached segments were given back to make room
};

/// The rules of c10/cuda/CUDACachingAllocator.cpp at its default settings, constants of c10/core/AllocatorConfig.h
/// (PyTorch 2.11):
///  - A request is rounded up to 512 B. Up to 1 MiB it comes from the small pool, in segments of 2 MiB; beyond that
///    from the large one: below 10 MiB in segments of 20 MiB, else in a segment of its own, rounded up to 2 MiB.
///  - The smallest free block of the pool and stream that fits serves it, lower addresses first. What remains is split
///    off from 512 B on in the small pool, beyond 1 MiB in the large one.
///  - A block that comes back merges with its free neighbours in the segment; segments stay reserved.
///  - Where the limit forbids a new segment, segments without a block in use go back to the device, of all pools and
///    streams; then it is out of memory.
/// O(log n) in blocks per call, and O(n) in the sizes of free blocks; the retry O(n).
class CachingAllocator {
 public:
  /// `limit`: bytes that the device has for segments.
  explicit CachingAllocator(std::int64_t limit = std::numeric_limits<std::int64_t>::max()) : limit_(limit) {}

  /// nullopt: out of memory, where PyTorch throws. Precondition: bytes > 0.
  std::optional<DeviceBlock> allocate(std::int64_t bytes, int stream = 0);
  /// Gives a block back by its number. Precondition: it is handed out. Returns its bytes.
  std::int64_t free(int number);
  /// Gives the segments without a block in use back to the device (emptyCache).
  void release_cached();

  const AllocatorUsage& usage() const { return usage_; }
  /// Whether the other one has the same blocks at the same addresses, so that both go on alike from here. O(blocks).
  bool holds_same(const CachingAllocator& other) const;

 private:
  static constexpr int none = -1;
  struct Block {
    std::int64_t address = 0, bytes = 0;
    int previous = none, next = none;  ///< in its segment
    int stream = 0;
    bool small = false, free = false;
    bool is_like(const Block& other) const {
      return address == other.address && bytes == other.bytes && stream == other.stream && small == other.small &&
             free == other.free;
    }
  };
  FreeBlocks& pool(const Block& block) { return pool(block.small, block.stream); }
  FreeBlocks& pool(bool small, int stream);
  int add(const Block& block);
  void add_free(int number);
  int best_fit(std::int64_t bytes, int stream);
  int take_segment(std::int64_t bytes, int stream);
  /// The block takes in the free one behind it.
  void take_in_next(int number);

  std::int64_t limit_, next_segment_ = 0;
  std::vector<Block> blocks_;      ///< by number
  std::vector<int> numbers_;       ///< that are free to be used again
  std::vector<int> segments_;      ///< the first block of each, by address
  std::vector<FreeBlocks> pools_;  ///< by stream, the small one first
  AllocatorUsage usage_;
};

}  // namespace parabench::analytic
