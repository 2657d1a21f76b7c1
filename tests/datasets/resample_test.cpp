#include "datasets/resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/datasets/reference_resample.h"

namespace parabench::datasets {
namespace {

constexpr Normalisation bytes_as_they_are{{0, 0, 0}, {1 / 255.0F, 1 / 255.0F, 1 / 255.0F}};

PixelWindow noise(int width, int height) {
  PixelWindow image{{0, 0, width, height}, std::vector<std::uint8_t>(static_cast<std::size_t>(4 * width * height))};
  std::minstd_rand random(7);
  for (auto& byte : image.pixels) byte = static_cast<std::uint8_t>(random());
  return image;
}

std::vector<float> resampled(const PixelWindow& window, const Cut& cut, int pixels,
                             const Normalisation& normalisation = bytes_as_they_are) {
  std::vector<float> out(static_cast<std::size_t>(3 * pixels * pixels));
  resample(window, cut, pixels, normalisation, out);
  return out;
}

Cut whole(const PixelWindow& image, bool flip = false) {
  return {0, 0, double(image.area.right), double(image.area.bottom), image.area, flip};
}

TEST(Resample, CopiesABoxOfTheSizeOfTheSample) {
  const PixelWindow image = noise(20, 15);
  const auto out = resampled(image, {6, 4, 14, 12, {6, 4, 14, 12}}, 8);
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8; ++x) {
        EXPECT_NEAR(out[static_cast<std::size_t>((c * 8 + y) * 8 + x)], image.row(y + 4)[4 * (x + 6) + c], 1e-3);
      }
    }
  }
}

TEST(Resample, EqualsTheFormulaForAnyBox) {
  const PixelWindow image = noise(90, 70);
  for (const Cut& cut : {whole(image), Cut{3, 5, 80, 66, {3, 5, 80, 66}}, Cut{10.4, 8.7, 61.2, 66.6, {0, 0, 90, 70}},
                         Cut{40, 40, 47, 44, {40, 40, 47, 44}}, Cut{0.5, 0.25, 89.5, 69.75, {0, 0, 90, 70}, true}}) {
    for (const int pixels : {1, 7, 32, 100}) {
      const auto expected = reference_resample(image, cut, pixels, imagenet_normalisation);
      const auto out = resampled(image, cut, pixels, imagenet_normalisation);
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_NEAR(out[i], expected[i], 2e-5) << "element " << i << " of " << pixels;
    }
  }
}

TEST(Resample, NeedsNoPixelBeyondTheFootprint) {
  const PixelWindow image = noise(90, 70);
  const Cut cut{20.3, 11.9, 70.1, 50.2, image.area};
  const Rect area = footprint(cut, 16);
  ASSERT_GT(area.left, 0);
  PixelWindow part{area, {}};
  for (int y = area.top; y < area.bottom; ++y) {
    part.pixels.insert(part.pixels.end(), image.row(y) + 4 * area.left, image.row(y) + 4 * area.right);
  }
  EXPECT_EQ(resampled(part, cut, 16), resampled(image, cut, 16));
}

TEST(Resample, MirrorsAndKeepsAPlainImagePlain) {
  const PixelWindow image = noise(40, 30);
  const auto out = resampled(image, whole(image), 9), mirrored = resampled(image, whole(image, true), 9);
  for (std::size_t row = 0; row < 27; ++row) {
    for (std::size_t x = 0; x < 9; ++x) EXPECT_EQ(out[row * 9 + x], mirrored[row * 9 + 8 - x]);
  }
  PixelWindow plain = image;
  std::ranges::fill(plain.pixels, std::uint8_t{77});
  for (const float value : resampled(plain, whole(plain), 13)) EXPECT_NEAR(value, 77, 1e-3);
}

/// Image.fromarray(a).resize((3, 3), Image.BILINEAR) of Pillow, a[y, x] = (37 x + 91 y + 11 x y) mod 256, 7
/// wide, 5 high; and of its part box=(1, 1, 6, 4) cut out before. Pillow rounds to bytes after each of its
/// two passes.
TEST(Resample, AgreesWithPillow) {
  PixelWindow image{{0, 0, 7, 5}, {}};
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 7; ++x) {
      image.pixels.insert(image.pixels.end(), 4, static_cast<std::uint8_t>(37 * x + 91 * y + 11 * x * y));
    }
  }
  const std::vector<int> of_whole{75, 132, 144, 145, 135, 122, 103, 119, 90},
      of_part{160, 178, 54, 157, 103, 196, 117, 170, 81};
  const auto whole_out = resampled(image, whole(image), 3);
  const auto part_out = resampled(image, {1, 1, 6, 4, {1, 1, 6, 4}}, 3);
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_NEAR(whole_out[i], of_whole[i], 1.01);
    EXPECT_NEAR(part_out[i], of_part[i], 1.01);
  }
}

}  // namespace
}  // namespace parabench::datasets
