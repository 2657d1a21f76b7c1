// Memory that a loader reads into.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <semaphore>
#include <set>
#include <thread>

#include "tests/datasets/numbered_source.h"

namespace parabench::datasets {
namespace {

TEST(Loader, ReadsIntoTheMemoryThatItIsGiven) {
  std::mutex mutex;
  std::map<const void*, std::size_t> held;
  std::set<std::thread::id> callers;
  const auto memory = [&](std::size_t bytes) {
    std::shared_ptr<void> block(std::aligned_alloc(64, (bytes + 63) / 64 * 64), [&](void* data) {
      const std::lock_guard lock(mutex);
      held.erase(data);
      std::free(data);
    });
    const std::lock_guard lock(mutex);
    held[block.get()] = bytes;
    callers.insert(std::this_thread::get_id());
    return block;
  };
  {
    Loader loader(std::make_shared<NumberedSource>(13), uneven, {.threads = 3, .prefetch = 2, .memory = memory});
    for (std::int64_t k = 0; k < 20; ++k) {
      const LoadedPiece piece = loader.next();
      const std::lock_guard lock(mutex);
      EXPECT_LE(held.size(), 2u * (2 + 1)) << "pixels and labels of the pieces read ahead and of this one";
      if (piece.labels.empty()) continue;
      EXPECT_EQ(held.at(real_of(piece).data()), real_of(piece).size_bytes());
      EXPECT_EQ(held.at(piece.labels.data()), piece.labels.size_bytes());
    }
  }
  EXPECT_TRUE(held.empty());
  EXPECT_FALSE(callers.contains(std::this_thread::get_id())) << "the caller of next() waits for nobody's memory";
}

TEST(Loader, DeliversWhyThereWasNoMemoryAndGoesOn) {
  std::atomic<int> asked = 0;
  const auto memory = [&](std::size_t bytes) {
    if (asked++ == 0) throw std::bad_alloc();
    return plain_memory(bytes);
  };
  Loader loader(std::make_shared<NumberedSource>(12), equal(1), {.memory = memory});
  EXPECT_THROW(loader.next(), std::bad_alloc);
  EXPECT_EQ(loader.next().labels.size(), 1u);
}

TEST(Loader, OtherThreadsGoOnWhileOneWaitsForMemory) {
  std::binary_semaphore first_asked{0}, gate{0};
  std::atomic<int> asked = 0;
  const auto memory = [&](std::size_t bytes) {
    if (asked++ == 0) {
      first_asked.release();
      gate.acquire();
    }
    return plain_memory(bytes);
  };
  const auto source = std::make_shared<NumberedSource>(100);
  Loader loader(source, equal(1), {.threads = 2, .prefetch = 4, .memory = memory});
  first_asked.acquire();
  while (source->reads < 3) std::this_thread::yield();  // hangs where memory is asked for under the loader's lock
  gate.release();
  for (int k = 0; k < 6; ++k) EXPECT_EQ(loader.next().labels.size(), 1u);
}

}  // namespace
}  // namespace parabench::datasets
