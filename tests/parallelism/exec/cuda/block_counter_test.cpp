// What the caching allocator of GPUs tells, counted for the ranks whose streams it names. Needs no GPU.
#include "parallelism/exec/cuda/block_counter.h"

#include <gtest/gtest.h>

namespace parabench::exec {
namespace {

using Entry = c10::CachingDeviceAllocator::TraceEntry;

cudaStream_t stream(std::uintptr_t number) { return reinterpret_cast<cudaStream_t>(number); }

void see(Entry::Action action, std::size_t address, std::size_t bytes, cudaStream_t of) {
  BlockCounter::see(Entry(action, 0, address, bytes, of, {0, 0}, 0));
}

TEST(BlockCounter, RanksThatShareAGpuCountTheBlocksOfTheirOwnStreams) {
  MemoryAccount mine, other;
  BlockCounter first(mine, stream(1), {stream(2), stream(5)}), second(other, stream(3), {stream(4)});
  first.allocating(MemoryCategory::activations);
  see(Entry::ALLOC, 0x100, 10, stream(1));
  see(Entry::ALLOC, 0x200, 20, stream(2));
  see(Entry::ALLOC, 0x300, 40, stream(3));
  see(Entry::ALLOC, 0x400, 80, stream(9));
  see(Entry::ALLOC, 0x500, 5, stream(5));
  EXPECT_EQ(mine.live(), 35);
  EXPECT_EQ(mine.peak()[MemoryCategory::activations], 10);
  EXPECT_EQ(mine.peak()[MemoryCategory::communication], 25);
  EXPECT_EQ(other.live(), 40);
  for (const std::size_t address : {0x100, 0x200, 0x300, 0x400, 0x500})
    see(Entry::FREE_REQUESTED, address, 0, stream(1));
  EXPECT_EQ(mine.live(), 0);
  EXPECT_EQ(other.live(), 0);
}

TEST(BlockCounter, ReservedSegmentsCountForTheRankWhoseStreamAskedForThem) {
  MemoryAccount mine, other;
  BlockCounter first(mine, stream(1), {stream(2), stream(5)}), second(other, stream(3), {stream(4)});
  see(Entry::SEGMENT_ALLOC, 0x1000, 100, stream(1));
  see(Entry::SEGMENT_ALLOC, 0x2000, 20, stream(2));
  see(Entry::SEGMENT_ALLOC, 0x3000, 7, stream(3));
  see(Entry::SEGMENT_FREE, 0x1000, 100, stream(1));
  EXPECT_EQ(first.peak_reserved(), 120);
  EXPECT_EQ(second.peak_reserved(), 7);
  first.reset_peak();
  EXPECT_EQ(first.peak_reserved(), 20) << "what is still held";
  EXPECT_EQ(second.peak_reserved(), 7);
  EXPECT_EQ(mine.live(), 0) << "a segment is not yet anybody's tensor";
}

}  // namespace
}  // namespace parabench::exec
