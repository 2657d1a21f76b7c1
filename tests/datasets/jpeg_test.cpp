#include "datasets/jpeg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "datasets/source.h"
#include "tests/datasets/sample_files.h"

namespace parabench::datasets {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

PixelWindow decode(std::span<const std::uint8_t> bytes, int denominator, Rect area) {
  JpegReader jpeg(bytes, "some.JPEG");
  PixelWindow window;
  jpeg.decode(denominator, area, window);
  return window;
}

std::string failure(std::span<const std::uint8_t> bytes, Rect area = {0, 0, 1, 1}) {
  try {
    decode(bytes, 1, area);
  } catch (const CorruptSample& error) {
    return error.what();
  }
  return "no error";
}

/// The pixels of `area` without the fourth byte, which carries nothing.
std::vector<std::uint8_t> colours(const PixelWindow& window, Rect area) {
  std::vector<std::uint8_t> out;
  for (int y = area.top; y < area.bottom; ++y) {
    for (int x = area.left; x < area.right; ++x) {
      for (int c = 0; c < 3; ++c) out.push_back(window.row(y)[4 * (x - window.area.left) + c]);
    }
  }
  return out;
}

std::vector<JpegFlavour> flavours() {
  std::vector<JpegFlavour> all;
  for (const bool progressive : {false, true}) {
    for (const auto& [horizontal, vertical] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}}) {
      all.push_back({163, 121, JpegColour::ycbcr, horizontal, vertical, progressive});
    }
    all.push_back({163, 121, JpegColour::grey, 1, 1, progressive});
    all.push_back({163, 121, JpegColour::rgb, 1, 1, progressive});
  }
  return all;
}

TEST(JpegReader, DecodesAsThePlainUseOfLibjpegDoes) {
  for (const JpegFlavour& flavour : flavours()) {
    const auto bytes = encode_jpeg(flavour);
    const PixelWindow reference = decode_whole(bytes);
    EXPECT_EQ(colours(decode(bytes, 1, reference.area), reference.area), colours(reference, reference.area));
  }
}

TEST(JpegReader, DecodesAnyPartExactlyAsTheWhole) {
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (const JpegFlavour& flavour : flavours()) {
    const auto bytes = encode_jpeg(flavour);
    for (const int denominator : {1, 2, 4, 8}) {
      const Rect all{0, 0, (flavour.width + denominator - 1) / denominator,
                     (flavour.height + denominator - 1) / denominator};
      const PixelWindow whole = decode(bytes, denominator, all);
      for (int trial = 0; trial < 25; ++trial) {
        const int left = below(all.right), top = below(all.bottom);
        const Rect part{left, top, left + 1 + below(all.right - left), top + 1 + below(all.bottom - top)};
        const PixelWindow window = decode(bytes, denominator, part);
        ASSERT_EQ(colours(window, part), colours(whole, part))
            << flavour.horizontal << 'x' << flavour.vertical << " progressive " << flavour.progressive << " 1/"
            << denominator << " [" << part.left << ',' << part.right << ") x [" << part.top << ',' << part.bottom
            << ")";
      }
    }
  }
}

TEST(JpegReader, TurnsGreyAndInksIntoColours) {
  const auto centre = [](JpegColour colour, std::vector<std::uint8_t> components) {
    const JpegFlavour flavour{32, 32, colour, 1, 1, false, 100};
    return colours(decode(encode_plain_jpeg(flavour, components), 1, {16, 16, 17, 17}), {16, 16, 17, 17});
  };
  const auto near = [](int r, int g, int b) {
    return ::testing::ElementsAre(::testing::AllOf(::testing::Ge(r - 2), ::testing::Le(r + 2)),
                                  ::testing::AllOf(::testing::Ge(g - 2), ::testing::Le(g + 2)),
                                  ::testing::AllOf(::testing::Ge(b - 2), ::testing::Le(b + 2)));
  };
  EXPECT_THAT(centre(JpegColour::grey, {90}), near(90, 90, 90));
  EXPECT_THAT(centre(JpegColour::rgb, {200, 100, 50}), near(200, 100, 50));
  // Adobe stores complements: 255 is no ink.
  EXPECT_THAT(centre(JpegColour::cmyk, {255, 128, 0, 255}), near(255, 128, 0));
  EXPECT_THAT(centre(JpegColour::cmyk, {255, 128, 0, 128}), near(128, 64, 0));
  EXPECT_THAT(centre(JpegColour::ycck, {200, 100, 50, 255}), near(200, 100, 50));
  EXPECT_THAT(centre(JpegColour::cmyk_without_adobe, {0, 127, 255, 0}), near(255, 128, 0));
}

TEST(JpegReader, NamesTheFileAndWhatIsWrongWithIt) {
  const auto good = encode_jpeg({});
  EXPECT_EQ(failure(good), "no error");
  EXPECT_THAT(failure({}), AllOf(HasSubstr("some.JPEG"), HasSubstr("Empty input file"), HasSubstr("--skip-corrupt")));
  const std::vector<std::uint8_t> png{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13};
  EXPECT_THAT(failure(png), AllOf(HasSubstr("some.JPEG"), HasSubstr("Not a JPEG file")));
  EXPECT_THAT(failure(std::vector<std::uint8_t>(500, 0)), HasSubstr("Not a JPEG file"));
}

TEST(JpegReader, RefusesAFileCutShortAnywhereWhateverThePartAskedFor) {
  for (const bool progressive : {false, true}) {
    const auto good = encode_jpeg({96, 64, JpegColour::ycbcr, 2, 2, progressive});
    for (std::size_t length = 0; length < good.size(); length += length + 80 < good.size() ? 37 : 1) {
      EXPECT_THAT(failure(std::span(good).first(length)), HasSubstr("JPEG"))
          << length << " of " << good.size() << " bytes";
    }
  }
}

TEST(JpegReader, TakesBytesBehindTheEndOfTheImage) {
  auto bytes = encode_jpeg({});
  bytes.insert(bytes.end(), 100, 0);
  EXPECT_EQ(failure(bytes), "no error");
}

TEST(JpegReader, RefusesDimensionsThatNoImageHas) {
  auto bytes = encode_jpeg({64, 64});
  const auto frame = std::ranges::search(bytes, std::vector<std::uint8_t>{0xFF, 0xC0});
  ASSERT_FALSE(frame.empty());
  for (int i = 5; i < 9; ++i) frame.begin()[i] = 0xF0;  // height and width
  EXPECT_THAT(failure(bytes), AllOf(HasSubstr("61680 x 61680"), HasSubstr("at most 100000000")));
  for (int i = 5; i < 9; ++i) frame.begin()[i] = 0;
  EXPECT_THAT(failure(bytes), HasSubstr("corrupt or unsupported"));
}

TEST(JpegReader, EndsWellWhateverBytesAreDamaged) {
  std::mt19937 random(20240607);
  const auto below = [&](std::size_t n) { return random() % n; };
  const std::vector<std::vector<std::uint8_t>> originals{encode_jpeg({48, 40}),
                                                         encode_jpeg({48, 40, JpegColour::ycbcr, 2, 1, true}),
                                                         encode_jpeg({48, 40, JpegColour::ycck})};
  int refused = 0, taken = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    auto bytes = originals[static_cast<std::size_t>(trial) % originals.size()];
    // The header takes less than a quarter of the bytes but holds most of what can go wrong: aim at it every
    // other time.
    const std::size_t reach = trial % 2 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 700);
    for (std::size_t k = 0; k <= below(4); ++k) bytes[below(reach)] = static_cast<std::uint8_t>(random());
    if (trial % 5 == 0) bytes.resize(below(bytes.size()));
    try {
      JpegReader jpeg(bytes, "some.JPEG");
      PixelWindow window;
      const int denominator = 1 << below(4);
      const Rect all{0, 0, (jpeg.width() + denominator - 1) / denominator,
                     (jpeg.height() + denominator - 1) / denominator};
      jpeg.decode(denominator,
                  {all.right / 3, all.bottom / 3, all.right / 3 + 1, std::min(all.bottom, all.bottom / 3 + 9)}, window);
      ++taken;
    } catch (const CorruptSample&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(taken, 300);
}

}  // namespace
}  // namespace parabench::datasets
