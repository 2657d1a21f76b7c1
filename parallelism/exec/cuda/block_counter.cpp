#include "parallelism/exec/cuda/block_counter.h"

#include <c10/cuda/CUDACachingAllocator.h>

#include <mutex>
#include <unordered_map>
#include <vector>

namespace parabench {

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
    if (entry.action_ != Entry::ALLOC && entry.action_ != Entry::FREE_REQUESTED) return;
    const std::lock_guard lock(mutex);
    if (entry.action_ == Entry::ALLOC) {
      allocated(entry.addr_, entry.stream_, static_cast<std::int64_t>(entry.size_));
    } else if (const auto found = blocks.find(entry.addr_); found != blocks.end()) {
      found->second.account->remove(found->second.category, found->second.bytes);
      blocks.erase(found);
    }
  }

  void allocated(std::size_t address, const void* stream, std::int64_t bytes) {
    for (const BlockCounter* counter : counters) {
      const bool compute = stream == counter->compute_;
      if (!compute && stream != counter->communication_) continue;
      const MemoryCategory category = compute ? counter->category_.load() : MemoryCategory::communication;
      counter->account_.add(category, bytes);
      blocks.insert_or_assign(address, Block{&counter->account_, category, bytes});
      return;
    }
  }

  std::mutex mutex;
  std::vector<const BlockCounter*> counters;
  std::unordered_map<std::size_t, Block> blocks;
};

BlockCounter::BlockCounter(MemoryAccount& account, cudaStream_t compute, cudaStream_t communication)
    : account_(account), compute_(compute), communication_(communication) {
  static const bool attached = [] {
    c10::cuda::CUDACachingAllocator::init(c10::cuda::device_count());
    c10::cuda::CUDACachingAllocator::attachAllocatorTraceTracker(
        [](const c10::CachingDeviceAllocator::TraceEntry& entry) { BlockRegistry::instance().see(entry); });
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

void BlockCounter::recategorise(const void* data, MemoryCategory category) {
  BlockRegistry& registry = BlockRegistry::instance();
  const std::lock_guard lock(registry.mutex);
  const auto found = registry.blocks.find(reinterpret_cast<std::size_t>(data));
  if (found == registry.blocks.end()) return;
  found->second.account->move(found->second.category, category, found->second.bytes);
  found->second.category = category;
}

}  // namespace parabench
