#include "datasets/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "datasets/order.h"
#include "tests/datasets/numbered_source.h"

namespace parabench::datasets {
namespace {

using ::testing::HasSubstr;

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
        ASSERT_EQ(real_of(piece).size(), 2 * piece.labels.size());
        for (std::size_t i = 0; i < piece.labels.size(); ++i) {
          const auto sample = order.at(wanted.first_position + static_cast<std::int64_t>(i));
          EXPECT_EQ(piece.labels[i], 10 * sample.index);
          EXPECT_EQ(real_of(piece)[2 * i], static_cast<float>(sample.index));
          EXPECT_EQ(real_of(piece)[2 * i + 1], static_cast<float>(sample.epoch));
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
        ++seen[{static_cast<int>(real_of(loaded)[2 * i + 1]), static_cast<int>(real_of(loaded)[2 * i])}];
      }
    }
  }
  EXPECT_EQ(seen.size(), 2u * size);
  for (const auto& [sample, times] : seen) EXPECT_EQ(times, 1);
}

TEST(Loader, ReadsLabelsAloneWithoutTouchingPixels) {
  const auto source = std::make_shared<NumberedSource>(10, std::set<std::int64_t>{3});
  Loader labels(source, equal(5), {.values = false}), pixels(std::make_shared<NumberedSource>(10), equal(5), {});
  for (int k = 0; k < 6; ++k) {
    const LoadedPiece piece = labels.next();
    EXPECT_FALSE(piece.has_values());
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
                  {.threads = threads, .values = pixels, .skip_corrupt = true});
    std::vector<std::int64_t> labels;
    while (labels.size() < 20) {
      const LoadedPiece piece = loader.next();
      labels.insert(labels.end(), piece.labels.begin(), piece.labels.end());
      for (std::size_t i = 0; pixels && i < piece.labels.size(); ++i) {
        EXPECT_EQ(static_cast<float>(piece.labels[i]), 10 * real_of(piece)[2 * i]);
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

TEST(Loader, LoadsSyntheticSamplesAlikeForAnyNumberOfThreads) {
  const DatasetSpec spec{"test-synthetic", DataSource::synthetic, {3, 8, 8}, 10, 50, 10, false};
  const auto pixels_of = [&](int threads) {
    Loader loader(open_source(spec, {}), equal(16), {.threads = threads});
    std::vector<float> pixels;
    for (int k = 0; k < 10; ++k) {
      const LoadedPiece piece = loader.next();
      pixels.insert(pixels.end(), real_of(piece).begin(), real_of(piece).end());
    }
    return pixels;
  };
  EXPECT_EQ(pixels_of(1), pixels_of(4));
}

}  // namespace
}  // namespace parabench::datasets
