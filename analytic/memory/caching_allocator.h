// PyTorch's caching allocator of GPU memory on paper: what it reserves for a sequence of tensors.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>

namespace parabench::analytic {

/// Part of a segment that was handed out.
struct DeviceBlock {
  std::int64_t address = 0;  ///< on a device whose segments never touch nor come back
  std::int64_t bytes = 0;    ///< the request rounded up, with a remainder too small to split off
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
/// O(log n) in blocks per call, but for the retry.
class CachingAllocator {
 public:
  /// `limit`: bytes that the device has for segments.
  explicit CachingAllocator(std::int64_t limit = std::numeric_limits<std::int64_t>::max()) : limit_(limit) {}

  /// nullopt: out of memory, where PyTorch throws. Precondition: bytes > 0.
  std::optional<DeviceBlock> allocate(std::int64_t bytes, int stream = 0);
  /// Gives a block back. Precondition: it is handed out. Returns its bytes.
  std::int64_t free(std::int64_t address);
  /// Gives the segments without a block in use back to the device (emptyCache).
  void release_cached();

  const AllocatorUsage& usage() const { return usage_; }
  /// Whether the other one has the same blocks at the same addresses, so that both go on alike from here.
  bool holds_same(const CachingAllocator& other) const {
    return limit_ == other.limit_ && next_segment_ == other.next_segment_ && blocks_ == other.blocks_;
  }

 private:
  struct Block {
    std::int64_t bytes = 0, segment = 0;  ///< segment: address of its first byte
    int stream = 0;
    bool small = false, free = false;
    bool operator==(const Block&) const = default;
  };
  using Blocks = std::map<std::int64_t, Block>;
  struct FreeKey {
    bool small;
    int stream;
    std::int64_t bytes, address;
    auto operator<=>(const FreeKey&) const = default;
  };
  static FreeKey key(const Blocks::value_type& entry);
  bool is_whole_segment(Blocks::iterator block) const;
  Blocks::iterator best_fit(std::int64_t bytes, int stream);
  Blocks::iterator take_segment(std::int64_t bytes, int stream);

  std::int64_t limit_, next_segment_ = 0;
  Blocks blocks_;           ///< by address, free and handed out
  std::set<FreeKey> free_;  ///< by pool, stream, size, address
  AllocatorUsage usage_;
};

}  // namespace parabench::analytic
