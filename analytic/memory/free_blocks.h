// The free blocks of one pool of an allocator: which of them serves a request.
#pragma once

#include <cstdint>
#include <vector>

namespace parabench::analytic {

/// Free blocks by size, of each size those at the lowest addresses first. Who takes one elsewhere, as its neighbour
/// does that merges with it, says so by its size alone: its entry stays until it is come upon.
class FreeBlocks {
 public:
  struct Entry {
    std::int64_t address = 0;
    int block = 0;  ///< the owner's number of it
  };

  void insert(std::int64_t bytes, Entry entry);
  /// One of this size is no longer free.
  void drop(std::int64_t bytes);
  /// Takes out the smallest block of at least so many bytes, the one at the lowest address among several; its number
  /// is -1 where there is none. `is_free`: whether an entry, of so many bytes, still is what it was. O(log entries) for
  /// each that is come upon.
  template <class IsFree>
  Entry take(std::int64_t bytes, IsFree is_free) {
    const auto at = place(bytes);
    if (at == sizes_.end()) return {0, -1};
    const std::int64_t size = at->bytes;
    Entry entry = pop(at->heap);
    while (!is_free(size, entry)) entry = pop(at->heap);
    drop(at);
    return entry;
  }

 private:
  struct Size {
    std::int64_t bytes = 0;
    int free = 0;  ///< blocks, at least one
    int heap = 0;
  };
  using Sizes = std::vector<Size>;
  Sizes::iterator place(std::int64_t bytes);
  Entry pop(int heap);
  void drop(Sizes::iterator of);

  Sizes sizes_;                            ///< ascending
  std::vector<std::vector<Entry>> heaps_;  ///< the lowest address first
  std::vector<int> unused_;                ///< of the heaps
};

}  // namespace parabench::analytic
