#include "datasets/synthetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>
#include <vector>

#include "tests/datasets/label_of.h"

namespace parabench::datasets {
namespace {

DatasetSpec spec(TensorSpec shape = {3, 32, 32}, int classes = 10) {
  return {"test-synthetic", DataSource::synthetic, shape, classes, 100'000, 1'000, false};
}

std::vector<float> pixels_of(const SampleSource& source, std::int64_t index, std::int64_t epoch = 0) {
  std::vector<float> pixels(static_cast<std::size_t>(source.shape().elements()));
  source.read(index, epoch, pixels);
  return pixels;
}

TEST(Synthetic, TakesSizesFromTheSpec) {
  EXPECT_EQ(open_source(spec(), {})->size(), 100'000);
  EXPECT_EQ(open_source(spec(), {"", Split::validation, 1})->size(), 1'000);
  EXPECT_EQ(open_source(spec(), {})->shape(), (TensorSpec{3, 32, 32}));
}

TEST(Synthetic, IsNearNormal) {
  const auto source = open_synthetic(spec(), {});
  double sum = 0, squares = 0, beyond_one = 0;
  constexpr int samples = 50;
  for (int i = 0; i < samples; ++i) {
    for (const float x : pixels_of(*source, i)) {
      sum += x;
      squares += double(x) * x;
      beyond_one += std::abs(x) > 1;
    }
  }
  const double count = samples * 3072;
  EXPECT_NEAR(sum / count, 0, 0.012);
  EXPECT_NEAR(squares / count, 1, 0.012);
  EXPECT_NEAR(beyond_one / count, 0.3173, 0.02);
}

TEST(Synthetic, DependsOnSeedSplitAndIndexNotOnEpochOrObject) {
  const auto one = open_synthetic(spec(), {"", Split::train, 7}), again = open_synthetic(spec(), {"", Split::train, 7});
  EXPECT_EQ(pixels_of(*one, 3), pixels_of(*again, 3, 5));
  EXPECT_NE(pixels_of(*one, 3), pixels_of(*one, 4));
  EXPECT_NE(pixels_of(*one, 3), pixels_of(*open_synthetic(spec(), {"", Split::train, 8}), 3));
  EXPECT_NE(pixels_of(*one, 3), pixels_of(*open_synthetic(spec(), {"", Split::validation, 7}), 3));
}

TEST(Synthetic, HoldsABoundedNumberOfDistinctSamples) {
  constexpr std::int64_t pool = (64LL << 20) / (3072 * 4);
  const auto source = open_synthetic(spec(), {});
  EXPECT_EQ(pixels_of(*source, 12), pixels_of(*source, 12 + pool));
  EXPECT_NE(pixels_of(*source, 12), pixels_of(*source, 12 + pool - 1));
  const auto large = open_synthetic(spec({3, 700, 700}), {});
  EXPECT_EQ(pixels_of(*large, 1), pixels_of(*large, 65));
}

TEST(Synthetic, LabelsBelongToTheIndexNotToThePool) {
  const auto source = open_synthetic(spec({3, 700, 700}, 10), {});
  std::set<int> of_one_pool_entry;
  std::vector<int> count(10);
  for (int i = 0; i < 10'000; ++i) {
    ++count[static_cast<std::size_t>(label_of(*source, i))];
    if (i % 64 == 0) of_one_pool_entry.insert(label_of(*source, i));
  }
  EXPECT_EQ(of_one_pool_entry.size(), 10u);
  for (const int n : count) EXPECT_NEAR(n, 1000, 150);
}

TEST(Synthetic, ThreadsThatMeetAtAFreshSampleSeeTheSame) {
  const auto expected = pixels_of(*open_synthetic(spec(), {}), 0);
  const auto source = open_synthetic(spec(), {});
  std::vector<std::vector<float>> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& pixels : seen) threads.emplace_back([&] { pixels = pixels_of(*source, 0); });
  }
  for (const auto& pixels : seen) EXPECT_EQ(pixels, expected);
}

}  // namespace
}  // namespace parabench::datasets
