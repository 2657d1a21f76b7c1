// A loader's threads: how far ahead they read, what they share, how they wait and end.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <semaphore>
#include <thread>

#include "tests/datasets/numbered_source.h"

namespace parabench::datasets {
namespace {

/// A source whose reads wait for permission.
class GatedSource final : public SampleSource {
 public:
  std::int64_t size() const override { return 100; }
  TensorSpec shape() const override { return {1, 1, 1}; }
  void read_labels(std::int64_t, std::span<std::int64_t> labels) const override { labels[0] = 0; }
  void read(std::int64_t, std::int64_t, SampleValues) const override {
    started.release();
    gate.acquire();
  }
  mutable std::counting_semaphore<> gate{0}, started{0};
};

TEST(Loader, ReadsNoFurtherAheadThanAllowed) {
  const auto source = std::make_shared<NumberedSource>(100);
  std::atomic<std::int64_t> requested = 0;
  Loader loader(source,
                [&](std::int64_t piece) {
                  requested = piece + 1;
                  return PieceRequest{piece * 2, 2};
                },
                {.threads = 3, .prefetch = 2});
  for (int k = 1; k <= 20; ++k) {
    EXPECT_EQ(loader.next().labels.size(), 2u);
    EXPECT_LE(requested, k + 2);
  }
  while (source->reads < 44) std::this_thread::yield();  // it does read as far ahead as allowed
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(requested, 22);
  EXPECT_EQ(source->reads, 44);
}

TEST(Loader, ThreadsShareTheSamplesOfOnePiece) {
  const auto source = std::make_shared<GatedSource>();
  Loader loader(source, equal(4), {.threads = 4, .prefetch = 1});
  for (int i = 0; i < 4; ++i)
    source->started.acquire();  // hangs unless four reads of the one piece are under way at once
  source->gate.release(100);
  EXPECT_EQ(loader.next().labels.size(), 4u);
}

TEST(Loader, EndsWhileItsThreadsWaitForRoomOrRead) {
  { Loader full(std::make_shared<NumberedSource>(10), equal(2), {.threads = 3, .prefetch = 1}); }
  const auto source = std::make_shared<GatedSource>();
  auto reading = std::make_unique<Loader>(source, equal(50), LoaderOptions{.threads = 2});
  source->started.acquire();
  source->started.acquire();
  std::jthread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    source->gate.release(2);
  });
  reading.reset();  // waits for the two samples at hand, not for the other 98
  EXPECT_FALSE(source->started.try_acquire());
}

TEST(Loader, ThreadsThatWaitUseNoProcessor) {
  Loader loader(std::make_shared<NumberedSource>(10), equal(2), {.threads = 4, .prefetch = 1});
  loader.next();
  const auto used = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  };
  const double before = used();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(used() - before, 0.1);  // one spinning thread: 0.2
}

}  // namespace
}  // namespace parabench::datasets
