#include "analytic/memory/caching_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <vector>

namespace parabench::analytic {
namespace {

constexpr std::int64_t kibibyte = 1 << 10, mebibyte = 1 << 20;

// Requests of 1 B, 1 MiB, 1 MiB + 1, 10 MiB, 11 MiB + 1.
TEST(CachingAllocator, RoundsBlocksAndSegments) {
  struct Row {
    std::int64_t request, block, segment;
  };
  for (const Row& row :
       {Row{1, 512, 2 * mebibyte}, Row{512, 512, 2 * mebibyte}, Row{513, 1024, 2 * mebibyte},
        Row{mebibyte, mebibyte, 2 * mebibyte}, Row{mebibyte + 1, 1'049'088, 20 * mebibyte},
        Row{10 * mebibyte - 512, 10 * mebibyte - 512, 20 * mebibyte}, Row{10 * mebibyte, 10 * mebibyte, 10 * mebibyte},
        Row{11 * mebibyte + 1, 12 * mebibyte, 12 * mebibyte},  // too little remains to split
        Row{33'554'432, 33'554'432, 33'554'432}, Row{8'519'680, 8'519'680, 20 * mebibyte}}) {
    CachingAllocator allocator;
    EXPECT_EQ(allocator.allocate(row.request)->bytes, row.block) << row.request;
    EXPECT_EQ(allocator.usage().allocated, row.block) << row.request;
    EXPECT_EQ(allocator.usage().reserved, row.segment) << row.request;
  }
}

TEST(CachingAllocator, SplitsSmallBlocksFrom512BytesAndLargeOnesBeyondAMebibyte) {
  CachingAllocator small;
  small.allocate(mebibyte);
  EXPECT_EQ(small.allocate(mebibyte - 512)->bytes, mebibyte - 512);
  EXPECT_EQ(small.allocate(512)->bytes, 512);
  EXPECT_EQ(small.usage().reserved, 2 * mebibyte);

  CachingAllocator large;
  large.free(large.allocate(20 * mebibyte)->number);
  EXPECT_EQ(large.allocate(19 * mebibyte)->bytes, 20 * mebibyte) << "exactly a mebibyte remains: not split";
  CachingAllocator larger;
  larger.free(larger.allocate(20 * mebibyte)->number);
  EXPECT_EQ(larger.allocate(19 * mebibyte - 512)->bytes, 19 * mebibyte - 512);
  EXPECT_EQ(larger.allocate(mebibyte + 512)->bytes, mebibyte + 512) << "the remainder serves";
  EXPECT_EQ(larger.usage().reserved, 20 * mebibyte);
}

TEST(CachingAllocator, TheSmallestBlockThatFitsServes) {
  CachingAllocator allocator;
  const auto wide = *allocator.allocate(40 * mebibyte), narrow = *allocator.allocate(24 * mebibyte);
  allocator.free(wide.number);
  allocator.free(narrow.number);
  EXPECT_EQ(allocator.allocate(23 * mebibyte)->address, narrow.address);
  EXPECT_EQ(allocator.allocate(23 * mebibyte)->address, wide.address);
  EXPECT_EQ(allocator.usage().reserved, 64 * mebibyte);
}

TEST(CachingAllocator, SmallRequestsDoNotEatLargeSegments) {
  CachingAllocator allocator;
  allocator.free(allocator.allocate(20 * mebibyte)->number);
  allocator.allocate(kibibyte);
  EXPECT_EQ(allocator.usage().reserved, 22 * mebibyte);
}

TEST(CachingAllocator, FreeNeighboursMergeInAnyOrder) {
  std::vector<int> order = {0, 1, 2, 3, 4};
  do {
    CachingAllocator allocator;
    std::vector<DeviceBlock> blocks;
    for (int i = 0; i < 5; ++i) blocks.push_back(*allocator.allocate(4 * mebibyte));
    ASSERT_EQ(allocator.usage().reserved, 20 * mebibyte);
    for (const int i : order) allocator.free(blocks[i].number);
    EXPECT_EQ(allocator.allocate(20 * mebibyte)->address, blocks[0].address);
    EXPECT_EQ(allocator.usage().reserved, 20 * mebibyte);
  } while (std::ranges::next_permutation(order).found);
}

TEST(CachingAllocator, NeighboursOfDifferentSegmentsStayApart) {
  CachingAllocator allocator;
  const auto first = *allocator.allocate(10 * mebibyte), second = *allocator.allocate(10 * mebibyte);
  allocator.free(first.number);
  allocator.free(second.number);
  allocator.allocate(20 * mebibyte);
  EXPECT_EQ(allocator.usage().reserved, 40 * mebibyte);
}

TEST(CachingAllocator, StreamsHavePoolsOfTheirOwn) {
  CachingAllocator allocator;
  allocator.free(allocator.allocate(30 * mebibyte, 0)->number);
  allocator.free(allocator.allocate(30 * mebibyte, 1)->number);
  EXPECT_EQ(allocator.usage().reserved, 60 * mebibyte);
  allocator.allocate(30 * mebibyte, 1);
  EXPECT_EQ(allocator.usage().reserved, 60 * mebibyte);
}

TEST(CachingAllocator, AtTheLimitCachedSegmentsGoBackThenItIsOutOfMemory) {
  CachingAllocator allocator(100 * mebibyte);
  const auto cached = *allocator.allocate(60 * mebibyte), pinned = *allocator.allocate(4 * mebibyte, 1);
  allocator.free(cached.number);
  ASSERT_TRUE(allocator.allocate(70 * mebibyte, 1)) << "60 + 20 + 70 are more than 100";
  EXPECT_EQ(allocator.usage().retries, 1);
  EXPECT_EQ(allocator.usage().reserved, 90 * mebibyte);
  EXPECT_EQ(allocator.usage().reserved_peak, 90 * mebibyte);
  EXPECT_FALSE(allocator.allocate(12 * mebibyte));
  EXPECT_EQ(allocator.usage().reserved, 90 * mebibyte) << "the segment of a block in use stays, its free part too";
  EXPECT_TRUE(allocator.allocate(10 * mebibyte, 1)) << "from the 16 MiB beside the pinned block";
  EXPECT_EQ(allocator.free(pinned.number), 4 * mebibyte);
}

TEST(CachingAllocator, EmptyingTheCacheGivesBackAllThatIsFree) {
  CachingAllocator allocator;
  const auto small = *allocator.allocate(1), large = *allocator.allocate(5 * mebibyte);
  allocator.release_cached();
  EXPECT_EQ(allocator.usage().reserved, 22 * mebibyte);
  allocator.free(large.number);
  allocator.release_cached();
  EXPECT_EQ(allocator.usage().reserved, 2 * mebibyte);
  allocator.free(small.number);
  allocator.release_cached();
  EXPECT_EQ(allocator.usage().reserved, 0);
  EXPECT_EQ(allocator.usage().reserved_peak, 22 * mebibyte);
}

TEST(CachingAllocator, RandomSequencesNeverOverlapAndComeBackWhole) {
  for (int seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    CachingAllocator allocator(seed % 2 == 0 ? 300 * mebibyte : std::numeric_limits<std::int64_t>::max());
    std::map<std::int64_t, DeviceBlock> live;  // by address
    std::int64_t allocated = 0, allocated_peak = 0;
    for (int step = 0; step < 2000; ++step) {
      if (live.empty() || random() % 5 < 3) {
        const auto bytes = static_cast<std::int64_t>(1 + random() % (std::int64_t{1} << (6 + random() % 20)));
        const auto block = allocator.allocate(bytes, static_cast<int>(random() % 3));
        if (!block) {
          ASSERT_LE(allocator.usage().reserved, 300 * mebibyte);
          continue;
        }
        ASSERT_GE(block->bytes, bytes);
        ASSERT_EQ(block->address % 512, 0);
        const auto next = live.lower_bound(block->address);
        ASSERT_TRUE(next == live.end() || block->address + block->bytes <= next->first);
        ASSERT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= block->address);
        live[block->address] = *block;
        allocated += block->bytes;
      } else {
        const auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
        ASSERT_EQ(allocator.free(victim->second.number), victim->second.bytes);
        allocated -= victim->second.bytes;
        live.erase(victim);
      }
      allocated_peak = std::max(allocated_peak, allocated);
      ASSERT_EQ(allocator.usage().allocated, allocated);
      ASSERT_EQ(allocator.usage().allocated_peak, allocated_peak);
      ASSERT_GE(allocator.usage().reserved, allocated);
      ASSERT_GE(allocator.usage().reserved_peak, allocator.usage().reserved);
    }
    for (const auto& [address, block] : live) allocator.free(block.number);
    EXPECT_EQ(allocator.usage().allocated, 0);
    allocator.release_cached();
    EXPECT_EQ(allocator.usage().reserved, 0) << "all neighbours merged";
  }
}

/// Which of the large pool's free blocks serve, found by looking at all of them.
class LinearSearch {
 public:
  /// The address of so many bytes, a multiple of 512; nullopt: no free block fits.
  std::optional<std::int64_t> take(std::int64_t bytes) {
    auto best = free_.end();
    for (auto at = free_.begin(); at != free_.end(); ++at)
      if (at->second >= bytes && (best == free_.end() || at->second < best->second)) best = at;
    if (best == free_.end()) return std::nullopt;
    const auto [address, whole] = *best;
    free_.erase(best);
    if (whole - bytes > mebibyte) free_[address + bytes] = whole - bytes;
    return address;
  }
  /// In a segment that ends at `end`.
  void give_back(std::int64_t address, std::int64_t bytes, std::int64_t end) {
    auto at = free_.insert({address, bytes}).first;
    if (const auto next = std::next(at); next != free_.end() && next->first == address + bytes && next->first < end) {
      at->second += next->second;
      free_.erase(next);
    }
    if (at == free_.begin() || address % (20 * mebibyte) == 0) return;
    if (const auto before = std::prev(at); before->first + before->second == at->first) {
      before->second += at->second;
      free_.erase(at);
    }
  }

 private:
  std::map<std::int64_t, std::int64_t> free_;  ///< bytes by address
};

TEST(CachingAllocator, ServesAsALookAtAllFreeBlocksWould) {
  constexpr std::int64_t segment = 20 * mebibyte;  // of all requests here: segments begin at its multiples
  for (int seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    CachingAllocator allocator;
    LinearSearch search;
    std::vector<DeviceBlock> live;
    std::int64_t segments = 0;
    for (int step = 0; step < 3000; ++step) {
      if (live.empty() || random() % 9 < 5) {
        // Of few sizes, so that free blocks are often alike.
        const std::int64_t bytes = mebibyte + 512 * (1 + static_cast<std::int64_t>(random() % 7) * 2500);
        std::optional<std::int64_t> address = search.take(bytes);
        if (!address) {
          search.give_back(segments, segment, segments + segment);
          segments += segment;
          address = search.take(bytes);
        }
        live.push_back(*allocator.allocate(bytes));
        ASSERT_EQ(live.back().address, *address) << seed << ", request " << step;
        ASSERT_EQ(allocator.usage().reserved, segments);
      } else {
        std::swap(live[random() % live.size()], live.back());
        const DeviceBlock block = live.back();
        live.pop_back();
        search.give_back(block.address, block.bytes, (block.address / segment + 1) * segment);
        ASSERT_EQ(allocator.free(block.number), block.bytes);
      }
    }
  }
}

}  // namespace
}  // namespace parabench::analytic
