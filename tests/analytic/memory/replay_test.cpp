#include "analytic/memory/replay.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <vector>

#include "analytic/memory/caching_allocator.h"

namespace parabench::analytic {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// What the allocator says that sees every request.
std::optional<std::int64_t> all_of(const std::vector<Request>& requests, std::int64_t limit) {
  CachingAllocator allocator(limit);
  std::map<int, int> blocks;
  for (int i = 0; i < std::ssize(requests); ++i) {
    if (requests[i].gives_back != Request::none) {
      allocator.free(blocks.at(requests[i].gives_back));
      continue;
    }
    const auto block = allocator.allocate(requests[i].bytes, requests[i].stream);
    if (!block) return std::nullopt;
    blocks[i] = block->number;
  }
  return allocator.usage().reserved_peak;
}

/// Requests of `steps` equal steps between some that stay: each asks for tensors of random sizes, keeps each for a
/// random number of requests, some into the next step, and gives it back.
std::vector<Request> training(std::mt19937& random, int steps, int tensors, int held) {
  std::vector<Request> requests;
  for (int i = 0; i < held; ++i) requests.push_back({std::int64_t{1} << (9 + random() % 15), 0, Request::none});
  struct Tensor {
    std::int64_t bytes;
    int stream, lives;
  };
  std::vector<Tensor> step;
  for (int i = 0; i < tensors; ++i) {
    step.push_back({std::int64_t(1 + random() % 4'000'000) >> (random() % 12), static_cast<int>(random() % 2),
                    static_cast<int>(random() % tensors)});
  }
  std::map<int, std::vector<int>> ends;  // by the tensor before which they come back
  for (int t = 0; t < steps; ++t) {
    for (int i = 0; i < tensors; ++i) {
      const int now = t * tensors + i;
      for (const int asked : ends[now]) requests.push_back({requests[asked].bytes, requests[asked].stream, asked});
      ends[now + 1 + step[i].lives].push_back(static_cast<int>(requests.size()));
      requests.push_back({step[i].bytes, step[i].stream, Request::none});
    }
  }
  return requests;
}

TEST(Replay, IsThatOfAllRequests) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const std::vector<Request> requests = training(random, 25, 1 + static_cast<int>(random() % 30), 3);
    const std::int64_t reserved = *all_of(requests, unlimited);
    EXPECT_EQ(replay(requests, unlimited)->reserved_peak, reserved) << seed;
    for (const std::int64_t limit : {reserved, reserved - 1, reserved / 2}) {
      const auto all = all_of(requests, limit);
      const auto some = replay(requests, limit);
      ASSERT_EQ(some.has_value(), all.has_value()) << seed << ", limit " << limit;
      if (!all) continue;
      EXPECT_EQ(some->reserved_peak, *all) << seed << ", limit " << limit;
    }
  }
}

TEST(Replay, OfMoreEqualStepsSeesNoMoreRequests) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 few(seed), many(seed);
    const std::vector<Request> short_run = training(few, 400, 20, 3), long_run = training(many, 2'000, 20, 3);
    const auto of_short = replay(short_run, unlimited), of_long = replay(long_run, unlimited);
    EXPECT_LT(of_short->replayed, short_run.size() / 2) << seed;
    EXPECT_LT(of_long->replayed, short_run.size()) << seed;
    EXPECT_EQ(of_long->reserved_peak, of_short->reserved_peak) << seed;
  }
}

TEST(Replay, OfRequestsThatNeverRepeatSeesThemAll) {
  std::vector<Request> requests;
  for (int i = 0; i < 100; ++i) requests.push_back({1000 * (i + 1), 0, Request::none});
  EXPECT_EQ(replay(requests, unlimited)->replayed, 100u);
  EXPECT_EQ(replay(requests, unlimited)->reserved_peak, *all_of(requests, unlimited));
  EXPECT_EQ(replay({}, unlimited)->replayed, 0u);
}

}  // namespace
}  // namespace parabench::analytic
