// Counts the blocks of torch's CUDA caching allocator for the account of the rank whose streams they belong to.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "parallelism/exec/memory.h"

namespace parabench::exec {

/// While it lives, blocks allocated on its streams count in `account` with the bytes asked for, until they are freed:
/// those of the compute stream under the category last set, those of the `passing` streams, which carry messages and
/// uploads, under `communication`. Streams tell ranks apart that share a GPU; the autograd engine's own threads
/// allocate on the stream of the forward.
class BlockCounter {
 public:
  BlockCounter(MemoryAccount& account, cudaStream_t compute, std::vector<cudaStream_t> passing);
  ~BlockCounter();
  BlockCounter(const BlockCounter&) = delete;
  BlockCounter& operator=(const BlockCounter&) = delete;

  void allocating(MemoryCategory category) { category_.store(category, std::memory_order_relaxed); }
  /// Moves the block that starts at `data`.
  void recategorise(const void* data, MemoryCategory category);

  /// What the allocator does, for all counters; the allocator itself tells it.
  static void see(const c10::CachingDeviceAllocator::TraceEntry& entry);

  /// Most bytes that the allocator held in segments for the streams since reset_peak().
  std::int64_t peak_reserved() const;
  void reset_peak();

 private:
  friend struct BlockRegistry;
  MemoryAccount& account_;
  cudaStream_t compute_;
  std::vector<cudaStream_t> passing_;
  std::atomic<MemoryCategory> category_{MemoryCategory::workspace};
  std::int64_t reserved_ = 0, peak_reserved_ = 0;  ///< guarded by the registry
};

}  // namespace parabench::exec
