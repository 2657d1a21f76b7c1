// Synthetic data sets with a label per position: tokens and masks.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "datasets/loader.h"

namespace parabench::datasets {
namespace {

using Tokens = std::vector<std::int64_t>;

DatasetSpec tokens() { return make_dataset({"tokens-synthetic", {{"sequence", "16"}, {"vocabulary", "50"}}}); }
DatasetSpec masks() { return make_dataset({"masks-synthetic", {{"pixels", "24"}}}); }

Tokens row(const SampleSource& source, std::int64_t index) {
  Tokens values(16);
  source.read(index, 0, values);
  return values;
}

Tokens labels_of(const SampleSource& source, std::int64_t index) {
  Tokens labels(static_cast<std::size_t>(source.label_shape().elements()));
  source.read_labels(index, labels);
  return labels;
}

TEST(SyntheticTokens, LabelsAreTheRowOneTokenFurther) {
  const auto source = open_source(tokens(), {});
  EXPECT_EQ(source->shape(), (TensorSpec{{16}, ElementKind::int64}));
  EXPECT_EQ(source->label_shape(), source->shape());
  std::set<std::int64_t> seen;
  for (int index = 0; index < 50; ++index) {
    const Tokens values = row(*source, index), labels = labels_of(*source, index);
    EXPECT_TRUE(std::equal(values.begin() + 1, values.end(), labels.begin()));
    seen.insert(values.begin(), values.end());
  }
  EXPECT_EQ(seen.size(), 50u) << "every token of the vocabulary";
  EXPECT_EQ(*seen.begin(), 0);
  EXPECT_EQ(*seen.rbegin(), 49);
}

TEST(SyntheticTokens, DependOnSeedSplitAndIndexAlone) {
  const auto source = open_source(tokens(), {.seed = 3}), same = open_source(tokens(), {.seed = 3});
  EXPECT_EQ(row(*source, 7), row(*same, 7));
  EXPECT_NE(row(*source, 7), row(*source, 8));
  EXPECT_NE(row(*source, 7), row(*open_source(tokens(), {.seed = 4}), 7));
  EXPECT_NE(row(*source, 7), row(*open_source(tokens(), {.split = Split::validation, .seed = 3}), 7));
}

TEST(SyntheticMasks, PixelsInsideTheDiscAreBrighter) {
  const auto source = open_source(masks(), {});
  EXPECT_EQ(source->shape(), (TensorSpec{3, 24, 24}));
  EXPECT_EQ(source->label_shape(), (TensorSpec{{24, 24}, ElementKind::int64}));
  double inside = 0, outside = 0;
  int count_inside = 0, count_outside = 0;
  for (int index = 0; index < 40; ++index) {
    std::vector<float> pixels(3 * 24 * 24);
    source->read(index, 0, pixels);
    const Tokens labels = labels_of(*source, index);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const std::int64_t label = labels[i % labels.size()];
      ASSERT_TRUE(label == 0 || label == 1);
      (label == 1 ? inside : outside) += pixels[i];
      ++(label == 1 ? count_inside : count_outside);
    }
  }
  ASSERT_GT(count_inside, 1000);
  ASSERT_GT(count_outside, 1000);
  EXPECT_NEAR(inside / count_inside, 1, 0.05);
  EXPECT_NEAR(outside / count_outside, 0, 0.05);
}

TEST(Loader, PiecesOfTokensHaveALabelPerToken) {
  std::shared_ptr<const SampleSource> source = open_source(tokens(), {});
  const auto request = [](std::int64_t piece) { return PieceRequest{3 * piece, 3}; };
  Loader whole(source, request, {.threads = 2}), labels(source, request, {.values = false});
  for (int piece = 0; piece < 4; ++piece) {
    const LoadedPiece loaded = whole.next(), alone = labels.next();
    EXPECT_EQ(loaded.samples, 3);
    const auto values = std::get<std::span<std::int64_t>>(loaded.values);
    ASSERT_EQ(values.size(), 48u);
    ASSERT_EQ(loaded.labels.size(), 48u);
    for (std::size_t i = 0; i + 1 < 48; ++i) {
      if (i % 16 == 15) continue;  // the last of a row
      EXPECT_EQ(values[i + 1], loaded.labels[i]);
    }
    EXPECT_FALSE(alone.has_values());
    EXPECT_TRUE(std::ranges::equal(alone.labels, loaded.labels));
  }
}

}  // namespace
}  // namespace parabench::datasets
