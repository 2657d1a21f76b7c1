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

FreeBlocks& CachingAllocator::pool(bool small, int stream) {
  const std::size_t place = 2 * static_cast<std::size_t>(stream) + (small ? 0 : 1);
  if (place >= pools_.size()) pools_.resize(place + 1);
  return pools_[place];
}

int CachingAllocator::add(const Block& block) {
  if (numbers_.empty()) {
    blocks_.push_back(block);
    return static_cast<int>(blocks_.size()) - 1;
  }
  const int number = numbers_.back();
  numbers_.pop_back();
  blocks_[number] = block;
  return number;
}

void CachingAllocator::add_free(int number) {
  const Block& block = blocks_[number];
  pool(block).insert(block.bytes, {block.address, number});
}

int CachingAllocator::best_fit(std::int64_t bytes, int stream) {
  const auto is_free = [&](std::int64_t size, const FreeBlocks::Entry& entry) {
    const Block& block = blocks_[entry.block];
    return block.free && block.bytes == size && block.address == entry.address;
  };
  return pool(is_small(bytes), stream).take(bytes, is_free).block;
}

int CachingAllocator::take_segment(std::int64_t bytes, int stream) {
  const std::int64_t size = segment_bytes(bytes);
  if (usage_.reserved > limit_ - size) {
    release_cached();
    ++usage_.retries;
    if (usage_.reserved > limit_ - size) return none;
  }
  usage_.reserved += size;
  usage_.reserved_peak = std::max(usage_.reserved_peak, usage_.reserved);
  segments_.push_back(
      add({.address = next_segment_, .bytes = size, .stream = stream, .small = is_small(bytes), .free = true}));
  next_segment_ += size;
  return segments_.back();
}

std::optional<DeviceBlock> CachingAllocator::allocate(std::int64_t bytes, int stream) {
  const std::int64_t size = rounded(bytes, smallest_block);
  int number = best_fit(size, stream);
  if (number == none) number = take_segment(size, stream);
  if (number == none) return std::nullopt;
  if (const Block whole = blocks_[number]; splits(whole.small, whole.bytes - size)) {
    Block remainder = whole;
    remainder.address += size;
    remainder.bytes -= size;
    remainder.previous = number;
    const int behind = add(remainder);
    if (whole.next != none) blocks_[whole.next].previous = behind;
    blocks_[number].next = behind;
    blocks_[number].bytes = size;
    add_free(behind);
  }
  Block& block = blocks_[number];
  block.free = false;
  usage_.allocated += block.bytes;
  usage_.allocated_peak = std::max(usage_.allocated_peak, usage_.allocated);
  return DeviceBlock{block.address, block.bytes, number};
}

void CachingAllocator::take_in_next(int number) {
  Block& block = blocks_[number];
  const int taken = block.next;
  Block& next = blocks_[taken];
  block.bytes += next.bytes;
  block.next = next.next;
  if (next.next != none) blocks_[next.next].previous = number;
  next.free = false;
  numbers_.push_back(taken);
}

std::int64_t CachingAllocator::free(int number) {
  const Block& block = blocks_[number];
  const std::int64_t bytes = block.bytes;
  usage_.allocated -= bytes;
  if (block.next != none && blocks_[block.next].free) {
    pool(block).drop(blocks_[block.next].bytes);
    take_in_next(number);
  }
  if (block.previous != none && blocks_[block.previous].free) {
    pool(block).drop(blocks_[block.previous].bytes);
    number = block.previous;
    take_in_next(number);
  }
  blocks_[number].free = true;
  add_free(number);
  return bytes;
}

void CachingAllocator::release_cached() {
  std::erase_if(segments_, [&](int first) {
    Block& block = blocks_[first];
    if (!block.free || block.next != none) return false;
    usage_.reserved -= block.bytes;
    pool(block).drop(block.bytes);
    block.free = false;
    numbers_.push_back(first);
    return true;
  });
}

bool CachingAllocator::holds_same(const CachingAllocator& other) const {
  if (limit_ != other.limit_ || next_segment_ != other.next_segment_ || segments_.size() != other.segments_.size())
    return false;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    int here = segments_[i], there = other.segments_[i];
    for (; here != none && there != none; here = blocks_[here].next, there = other.blocks_[there].next)
      if (!blocks_[here].is_like(other.blocks_[there])) return false;
    if (here != there) return false;
  }
  return true;
}

}  // namespace parabench::analytic
