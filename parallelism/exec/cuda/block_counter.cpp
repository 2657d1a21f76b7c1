#include "parallelism/exec/cuda/block_counter.h"

#include <c10/cuda/CUDACachingAllocator.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace parabench::exec {

/// All counters and counted blocks of the process: the allocator has one stream of events.
struct BlockRegistry {
  struct Block {
    MemoryAccount* account;
    MemoryCategory category;
    std::int64_t bytes;
  };

  static BlockRegistry& instance() {
    static auto* registry = new BlockRegistry;  // blocks are freed until the process ends
    return *registry;
  }

  void see(const c10::CachingDeviceAllocator::TraceEntry& entry) {
    using Entry = c10::CachingDeviceAllocator::TraceEntry;
    const std::lock_guard lock(mutex);
    const auto bytes = static_cast<std::int64_t>(entry.size_);
    if (entry.action_ == Entry::ALLOC) allocated(entry.addr_, entry.stream_, bytes);
    if (entry.action_ == Entry::FREE_REQUESTED) freed(entry.addr_);
    if (entry.action_ == Entry::SEGMENT_ALLOC || entry.action_ == Entry::SEGMENT_MAP) reserved(entry.stream_, bytes);
    if (entry.action_ == Entry::SEGMENT_FREE || entry.action_ == Entry::SEGMENT_UNMAP) reserved(entry.stream_, -bytes);
  }

  /// The counter that a stream belongs to; nullptr where it belongs to none.
  BlockCounter* counter_of(const void* stream) const {
    for (BlockCounter* counter : counters)
      if (stream == counter->compute_ || std::ranges::find(counter->passing_, stream) != counter->passing_.end())
        return counter;
    return nullptr;
  }

  void allocated(std::size_t address, const void* stream, std::int64_t bytes) {
    const BlockCounter* counter = counter_of(stream);
    if (!counter) return;
    const bool compute = stream == counter->compute_;
    const MemoryCategory category = compute ? counter->category_.load() : MemoryCategory::communication;
    counter->account_.add(category, bytes);
    blocks.insert_or_assign(address, Block{&counter->account_, category, bytes});
  }

  void freed(std::size_t address) {
    const auto found = blocks.find(address);
    if (found == blocks.end()) return;
    found->second.account->remove(found->second.category, found->second.bytes);
    blocks.erase(found);
  }

  void reserved(const void* stream, std::int64_t bytes) {
    BlockCounter* const counter = counter_of(stream);
    if (!counter) return;
    counter->reserved_ += bytes;
    counter->peak_reserved_ = std::max(counter->peak_reserved_, counter->reserved_);
  }

  std::mutex mutex;
  std::vector<BlockCounter*> counters;
  std::unordered_map<std::size_t, Block> blocks;
};

BlockCounter::BlockCounter(MemoryAccount& account, cudaStream_t compute, std::vector<cudaStream_t> passing)
    : account_(account), compute_(compute), passing_(std::move(passing)) {
  static const bool attached = [] {
    c10::cuda::CUDACachingAllocator::init(c10::cuda::device_count());
    c10::cuda::CUDACachingAllocator::attachAllocatorTraceTracker(&BlockCounter::see);
    return true;
  }();
  static_cast<void>(attached);
  BlockRegistry& registry = BlockRegistry::instance();
  const std::lock_guard lock(registry.mutex);
  registry.counters.push_back(this);
}

BlockCounter::~BlockCounter() {
  BlockRegistry& registry = BlockRegistry::instance();
  const std::lock_guard lock(registry.mutex);
  std::erase(registry.counters, this);
}

std::int64_t BlockCounter::peak_reserved() const {
  const std::lock_guard lock(BlockRegistry::instance().mutex);
  return peak_reserved_;
}

void BlockCounter::reset_peak() {
  const std::lock_guard lock(BlockRegistry::instance().mutex);
  peak_reserved_ = reserved_;
}

void BlockCounter::see(const c10::CachingDeviceAllocator::TraceEntry& entry) { BlockRegistry::instance().see(entry); }

void BlockCounter::recategorise(const void* data, MemoryCategory category) {
  BlockRegistry& registry = BlockRegistry::instance();
  const std::lock_guard lock(registry.mutex);
  const auto found = registry.blocks.find(reinterpret_cast<std::size_t>(data));
  if (found == registry.blocks.end()) return;
  found->second.account->move(found->second.category, category, found->second.bytes);
  found->second.category = category;
}

}  // namespace parabench::exec
