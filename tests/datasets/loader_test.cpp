#include "datasets/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <new>
#include <semaphore>
#include <set>
#include <thread>

#include "datasets/order.h"
#include "datasets/synthetic.h"

namespace parabench {
namespace {

using ::testing::HasSubstr;

/// Sample i of epoch e is {i, e}, its label 10 i; some cannot be read.
class NumberedSource final : public SampleSource {
 public:
  explicit NumberedSource(std::int64_t size, std::set<std::int64_t> corrupt = {})
      : size_(size), corrupt_(std::move(corrupt)) {}
  std::int64_t size() const override { return size_; }
  Shape shape() const override { return {2, 1, 1}; }
  int label(std::int64_t index) const override { return static_cast<int>(10 * index); }
  void read(std::int64_t index, std::int64_t epoch, std::span<float> pixels) const override {
    ++reads;
    if (corrupt_.contains(index)) throw CorruptSample("sample-" + std::to_string(index), "damaged");
    pixels[0] = static_cast<float>(index);
    pixels[1] = static_cast<float>(epoch);
  }
  mutable std::atomic<int> reads = 0;

 private:
  std::int64_t size_;
  std::set<std::int64_t> corrupt_;
};

/// Pieces of varying size, one behind the other, some empty.
PieceRequest uneven(std::int64_t piece) { return {piece * 3, piece % 5 == 4 ? 0 : 1 + static_cast<int>(piece % 3)}; }

std::function<PieceRequest(std::int64_t)> equal(int samples) {
  return [samples](std::int64_t piece) { return PieceRequest{piece * samples, samples}; };
}

TEST(Loader, DeliversThePiecesInOrderForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 5}) {
    for (const int prefetch : {1, 2, 7}) {
      Loader loader(std::make_shared<NumberedSource>(13), uneven,
                    {.threads = threads, .prefetch = prefetch, .seed = 4});
      SampleOrder order(13, 4);
      for (std::int64_t k = 0; k < 60; ++k) {
        const LoadedPiece piece = loader.next();
        const PieceRequest wanted = uneven(k);
        ASSERT_EQ(piece.labels.size(), static_cast<std::size_t>(wanted.samples));
        ASSERT_EQ(piece.pixels.size(), 2 * piece.labels.size());
        for (std::size_t i = 0; i < piece.labels.size(); ++i) {
          const auto sample = order.at(wanted.first_position + static_cast<std::int64_t>(i));
          EXPECT_EQ(piece.labels[i], 10 * sample.index);
          EXPECT_EQ(piece.pixels[2 * i], static_cast<float>(sample.index));
          EXPECT_EQ(piece.pixels[2 * i + 1], static_cast<float>(sample.epoch));
        }
      }
      EXPECT_EQ(loader.skipped(), 0);
    }
  }
}

/// Two replicas of two micro-batches: what the four pieces of each step hold, together, is every sample once
/// per epoch.
TEST(Loader, SharesAnEpochAmongRanksWithoutLossOrRepetition) {
  constexpr int size = 21, batch = 6, steps = 7;  // 42 samples: two epochs, one of which ends inside a step
  std::map<std::pair<int, int>, int> seen;        // (epoch, sample)
  for (int replica = 0; replica < 2; ++replica) {
    const auto request = [&](std::int64_t piece) {
      const std::int64_t step = piece / 2, micro = piece % 2;
      return PieceRequest{step * batch + 3 * replica + (micro == 0 ? 0 : 2), micro == 0 ? 2 : 1};
    };
    Loader loader(std::make_shared<NumberedSource>(size), request, {.threads = 2});
    for (int piece = 0; piece < 2 * steps; ++piece) {
      const LoadedPiece loaded = loader.next();
      for (std::size_t i = 0; i < loaded.labels.size(); ++i) {
        ++seen[{static_cast<int>(loaded.pixels[2 * i + 1]), static_cast<int>(loaded.pixels[2 * i])}];
      }
    }
  }
  EXPECT_EQ(seen.size(), 2u * size);
  for (const auto& [sample, times] : seen) EXPECT_EQ(times, 1);
}

TEST(Loader, ReadsLabelsAloneWithoutTouchingPixels) {
  const auto source = std::make_shared<NumberedSource>(10, std::set<std::int64_t>{3});
  Loader labels(source, equal(5), {.pixels = false}), pixels(std::make_shared<NumberedSource>(10), equal(5), {});
  for (int k = 0; k < 6; ++k) {
    const LoadedPiece piece = labels.next();
    EXPECT_TRUE(piece.pixels.empty());
    const LoadedPiece whole = pixels.next();
    EXPECT_TRUE(std::ranges::equal(piece.labels, whole.labels));
  }
  EXPECT_EQ(source->reads, 0);
}

TEST(Loader, RethrowsWhatTheReaderThrewAtItsPieceAndGoesOn) {
  for (const int threads : {1, 4}) {
    SampleOrder order(12, 1);
    const std::int64_t earlier = order.at(5).index, later = order.at(7).index;  // both in piece 1 of 4 samples
    Loader loader(std::make_shared<NumberedSource>(12, std::set{earlier, later}), equal(4), {.threads = threads});
    EXPECT_EQ(loader.next().labels.size(), 4u);
    try {
      loader.next();
      FAIL() << "no error";
    } catch (const CorruptSample& error) {
      EXPECT_THAT(error.what(), HasSubstr("sample-" + std::to_string(earlier) + ":"));
    }
    EXPECT_EQ(loader.next().labels.size(), 4u);
  }
}

TEST(Loader, RethrowsWhatTheRequestThrew) {
  Loader loader(std::make_shared<NumberedSource>(12),
                [](std::int64_t piece) {
                  if (piece == 1) throw std::out_of_range("no such piece");
                  return PieceRequest{0, 2};
                },
                {});
  EXPECT_EQ(loader.next().labels.size(), 2u);
  EXPECT_THROW(loader.next(), std::out_of_range);
  EXPECT_EQ(loader.next().labels.size(), 2u);
}

TEST(Loader, ReplacesACorruptSampleByTheNextReadableOneAlikeOnAllRanks) {
  const std::set<std::int64_t> corrupt{2, 3, 9};
  const auto replaced = [](std::int64_t index) { return index == 2 || index == 3 ? 4 : index == 9 ? 0 : index; };
  SampleOrder order(10, 1);
  std::vector<std::int64_t> expected;
  for (int p = 0; p < 20; ++p) expected.push_back(10 * replaced(order.at(p).index));

  const auto labels_of = [&](bool pixels, int threads, int samples) {
    Loader loader(std::make_shared<NumberedSource>(10, corrupt), equal(samples),
                  {.threads = threads, .pixels = pixels, .skip_corrupt = true});
    std::vector<std::int64_t> labels;
    while (labels.size() < 20) {
      const LoadedPiece piece = loader.next();
      labels.insert(labels.end(), piece.labels.begin(), piece.labels.end());
      for (std::size_t i = 0; pixels && i < piece.labels.size(); ++i) {
        EXPECT_EQ(static_cast<float>(piece.labels[i]), 10 * piece.pixels[2 * i]);
      }
    }
    EXPECT_EQ(loader.skipped(), 6) << "three in each of two epochs";
    return labels;
  };
  EXPECT_EQ(labels_of(true, 1, 5), expected);
  EXPECT_EQ(labels_of(true, 3, 2), expected);
  EXPECT_EQ(labels_of(false, 2, 4), expected);
}

TEST(Loader, ThrowsWhenNoSampleCanBeRead) {
  Loader loader(std::make_shared<NumberedSource>(3, std::set<std::int64_t>{0, 1, 2}), equal(1), {.skip_corrupt = true});
  EXPECT_THROW(loader.next(), CorruptSample);
}

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
      EXPECT_EQ(held.at(piece.pixels.data()), piece.pixels.size_bytes());
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

/// A source whose reads wait for permission.
class GatedSource final : public SampleSource {
 public:
  std::int64_t size() const override { return 100; }
  Shape shape() const override { return {1, 1, 1}; }
  int label(std::int64_t) const override { return 0; }
  void read(std::int64_t, std::int64_t, std::span<float>) const override {
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

TEST(Loader, LoadsSyntheticSamplesAlikeForAnyNumberOfThreads) {
  const DatasetSpec spec{"test-synthetic", DataSource::synthetic, {3, 8, 8}, 10, 50, 10, false};
  const auto pixels_of = [&](int threads) {
    Loader loader(open_source(spec, {}), equal(16), {.threads = threads});
    std::vector<float> pixels;
    for (int k = 0; k < 10; ++k) {
      const LoadedPiece piece = loader.next();
      pixels.insert(pixels.end(), piece.pixels.begin(), piece.pixels.end());
    }
    return pixels;
  };
  EXPECT_EQ(pixels_of(1), pixels_of(4));
}

}  // namespace
}  // namespace parabench
