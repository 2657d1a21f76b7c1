#include "analytic/memory/caching_allocator.h"

#include <algorithm>

namespace parabench::analytic {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;
constexpr std::int64_t smallest_block = 512;           // kMinBlockSize
constexpr std::int64_t largest_small = mebibyte;       // kSmallSize
constexpr std::int64_t small_segment = 2 * mebibyte;   // kSmallBuffer
constexpr std::int64_t large_segment = 20 * mebibyte;  // large_segment_size
constexpr std::int64_t own_segment = 10 * mebibyte;    // kMinLargeAlloc
constexpr std::int64_t own_rounding = 2 * mebibyte;    // kRoundLarge

std::int64_t rounded(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit * unit; }

bool is_small(std::int64_t block_bytes) { return block_bytes <= largest_small; }

std::int64_t segment_bytes(std::int64_t block_bytes) {
  if (is_small(block_bytes)) return small_segment;
  return block_bytes < own_segment ? large_segment : rounded(block_bytes, own_rounding);
}

bool splits(bool small, std::int64_t remainder) {
  return small ? remainder >= smallest_block : remainder > largest_small;
}

}  // namespace

CachingAllocator::FreeKey CachingAllocator::key(const Blocks::value_type& entry) {
  const auto& [address, block] = entry;
  return {block.small, block.stream, block.bytes, address};
}

bool CachingAllocator::is_whole_segment(Blocks::iterator block) const {
  const auto next = std::next(block);
  return block->first == block->second.segment &&
         (next == blocks_.end() || next->second.segment != block->second.segment);
}

CachingAllocator::Blocks::iterator CachingAllocator::best_fit(std::int64_t bytes, int stream) {
  const auto found = free_.lower_bound({is_small(bytes), stream, bytes, 0});
  if (found == free_.end() || found->small != is_small(bytes) || found->stream != stream) return blocks_.end();
  const auto block = blocks_.find(found->address);
  free_.erase(found);
  return block;
}

CachingAllocator::Blocks::iterator CachingAllocator::take_segment(std::int64_t bytes, int stream) {
  const std::int64_t size = segment_bytes(bytes);
  if (usage_.reserved > limit_ - size) {
    release_cached();
    ++usage_.retries;
    if (usage_.reserved > limit_ - size) return blocks_.end();
  }
  usage_.reserved += size;
  usage_.reserved_peak = std::max(usage_.reserved_peak, usage_.reserved);
  const std::int64_t address = next_segment_;
  next_segment_ += size;
  return blocks_.insert({address, {size, address, stream, is_small(bytes), true}}).first;
}

std::optional<DeviceBlock> CachingAllocator::allocate(std::int64_t bytes, int stream) {
  const std::int64_t size = rounded(bytes, smallest_block);
  auto at = best_fit(size, stream);
  if (at == blocks_.end()) at = take_segment(size, stream);
  if (at == blocks_.end()) return std::nullopt;
  auto& [address, block] = *at;
  if (splits(block.small, block.bytes - size)) {
    Block remainder = block;
    remainder.bytes -= size;
    free_.insert(key(*blocks_.insert({address + size, remainder}).first));
    block.bytes = size;
  }
  block.free = false;
  usage_.allocated += block.bytes;
  usage_.allocated_peak = std::max(usage_.allocated_peak, usage_.allocated);
  return DeviceBlock{address, block.bytes};
}

std::int64_t CachingAllocator::free(std::int64_t address) {
  auto at = blocks_.find(address);
  const std::int64_t bytes = at->second.bytes;
  usage_.allocated -= bytes;
  at->second.free = true;
  const auto mergeable = [&](Blocks::iterator other) {
    return other->second.free && other->second.segment == at->second.segment;
  };
  if (const auto next = std::next(at); next != blocks_.end() && mergeable(next)) {
    free_.erase(key(*next));
    at->second.bytes += next->second.bytes;
    blocks_.erase(next);
  }
  if (at != blocks_.begin() && mergeable(std::prev(at))) {
    const auto previous = std::prev(at);
    free_.erase(key(*previous));
    previous->second.bytes += at->second.bytes;
    blocks_.erase(at);
    at = previous;
  }
  free_.insert(key(*at));
  return bytes;
}

void CachingAllocator::release_cached() {
  for (auto at = blocks_.begin(); at != blocks_.end();) {
    if (!at->second.free || !is_whole_segment(at)) {
      ++at;
      continue;
    }
    usage_.reserved -= at->second.bytes;
    free_.erase(key(*at));
    at = blocks_.erase(at);
  }
}

}  // namespace parabench::analytic
