#include "datasets/jpeg_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/datasets/label_of.h"
#include "tests/datasets/reference_resample.h"
#include "tests/datasets/sample_files.h"

namespace parabench::datasets {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

DatasetSpec spec(int pixels, int classes = 1000) {
  return {"imagenet", DataSource::jpeg_folder, {3, pixels, pixels}, classes, 1'281'167, 50'000, false};
}

std::vector<float> pixels_of(const SampleSource& source, std::int64_t index, std::int64_t epoch = 0) {
  std::vector<float> pixels(static_cast<std::size_t>(source.shape().elements()));
  source.read(index, epoch, pixels);
  return pixels;
}

std::string failure(const fs::path& folder, Split split = Split::train, int classes = 1000) {
  try {
    open_source(spec(32, classes), {folder.string(), split, 1});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no error";
}

struct Difference {
  double mean = 0, greatest = 0;
};

Difference difference(const std::vector<float>& a, const std::vector<double>& b) {
  Difference d;
  for (std::size_t i = 0; i < a.size(); ++i) {
    d.mean += std::abs(a[i] - b[i]) / static_cast<double>(a.size());
    d.greatest = std::max(d.greatest, std::abs(a[i] - b[i]));
  }
  return d;
}

class JpegFolder : public ::testing::Test {
 protected:
  void add(const std::string& name, const JpegFlavour& flavour) {
    write_file(folder_.path() / name, encode_jpeg(flavour));
  }

  std::unique_ptr<SampleSource> open(int pixels, Split split = Split::train, std::uint64_t seed = 1) {
    return open_source(spec(pixels), {folder_.path().string(), split, seed});
  }

  TemporaryFolder folder_;
};

TEST_F(JpegFolder, NumbersClassesByNameAndTakesJpegFilesOnly) {
  for (const char* name : {"train/n02/b.JPEG", "train/n02/a.jpg", "train/n01/z.jpeg", "train/n10/c.JPG",
                           "val/n10/v.JPEG", "train/n01/notes.txt", "train/n01/._z.jpeg", "train/.cache/x.jpg"}) {
    add(name, {16, 16});
  }
  const auto train = open(8), validation = open(8, Split::validation);
  ASSERT_EQ(train->size(), 4);
  EXPECT_EQ((std::vector{label_of(*train, 0), label_of(*train, 1), label_of(*train, 2), label_of(*train, 3)}),
            (std::vector{0, 1, 1, 2}));
  ASSERT_EQ(validation->size(), 1);
  EXPECT_EQ(label_of(*validation, 0), 2) << "labels come from the classes of train";
}

TEST_F(JpegFolder, ReadsTheCutAsIfTheWholeImageHadBeenDecoded) {
  for (const auto& [horizontal, vertical] : {std::pair{1, 1}, {2, 1}, {2, 2}}) {
    const JpegFlavour flavour{150, 110, JpegColour::ycbcr, horizontal, vertical};
    add("train/a/x.jpg", flavour);
    add("val/a/x.jpg", flavour);
    const PixelWindow image = decode_whole(encode_jpeg(flavour));
    const auto train = open(96), validation = open(96, Split::validation);
    for (int epoch = 0; epoch < 20; ++epoch) {
      const Cut cut = random_cut(150, 110, Draws(1, DrawPurpose::augmentation, epoch, 0));
      const auto expected = reference_resample(image, cut, 96, imagenet_normalisation);
      EXPECT_LT(difference(pixels_of(*train, 0, epoch), expected).greatest, 2e-5);
    }
    const auto expected = reference_resample(image, centre_cut(150, 110, 96), 96, imagenet_normalisation);
    EXPECT_LT(difference(pixels_of(*validation, 0), expected).greatest, 2e-5);
  }
}

/// Decoding at 1/2, 1/4, 1/8 averages over a box where resampling the whole weights by a triangle: a grey
/// level or two apart (0.0175 each here) where the picture waves fast. Half a decoded pixel of displacement
/// would be ten.
TEST_F(JpegFolder, DecodesLargeImagesSmallerWithLittleDifference) {
  const JpegFlavour flavour{800, 600};
  add("train/a/x.jpg", flavour);
  add("val/a/x.jpg", flavour);
  const PixelWindow image = decode_whole(encode_jpeg(flavour));
  for (const int pixels : {32, 64, 128, 224}) {
    const Cut cut = centre_cut(800, 600, pixels);
    ASSERT_EQ(decode_denominator(cut, pixels), pixels == 32 ? 8 : pixels == 64 ? 8 : pixels == 128 ? 4 : 2);
    const auto expected = reference_resample(image, cut, pixels, imagenet_normalisation);
    const Difference d = difference(pixels_of(*open(pixels, Split::validation), 0), expected);
    EXPECT_LT(d.mean, 0.03) << pixels;
    EXPECT_LT(d.greatest, 0.2) << pixels;
  }
}

TEST_F(JpegFolder, CutsBySeedEpochAndIndexAlone) {
  for (const char* name : {"train/a/x.jpg", "train/a/y.jpg"}) add(name, {64, 48});
  const auto source = open(24), again = open(24), other = open(24, Split::train, 2);
  EXPECT_EQ(pixels_of(*source, 0, 3), pixels_of(*again, 0, 3));
  EXPECT_NE(pixels_of(*source, 0, 3), pixels_of(*source, 0, 4));
  EXPECT_NE(pixels_of(*source, 0, 3), pixels_of(*source, 1, 3));
  EXPECT_NE(pixels_of(*source, 0, 3), pixels_of(*other, 0, 3));
}

TEST_F(JpegFolder, ReadsAnyShapeOfImage) {
  int number = 0;
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 300}, {300, 1}, {7, 5}, {8, 8}, {17, 900}}) {
    for (const JpegColour colour : {JpegColour::ycbcr, JpegColour::grey, JpegColour::ycck}) {
      const std::string name = std::to_string(number++) + ".jpg";
      add("train/a/" + name, {width, height, colour});
      add("val/a/" + name, {width, height, colour});
    }
  }
  for (const Split split : {Split::train, Split::validation}) {
    const auto source = open(20, split);
    for (std::int64_t i = 0; i < source->size(); ++i) {
      for (const float value : pixels_of(*source, i)) ASSERT_TRUE(value > -2.2F && value < 2.7F);
    }
  }
}

TEST_F(JpegFolder, NamesTheFileThatCannotBeRead) {
  add("train/a/good.jpg", {32, 32});
  auto cut_short = encode_jpeg({32, 32});
  cut_short.resize(cut_short.size() / 2);
  write_file(folder_.path() / "train/a/cut.jpg", cut_short);
  write_file(folder_.path() / "train/a/empty.jpg", {});
  add("train/a/gone.jpg", {32, 32});
  const auto source = open(16);
  ASSERT_EQ(source->size(), 4);
  fs::remove(folder_.path() / "train/a/gone.jpg");
  for (const auto& [index, name] : {std::pair{0, "cut.jpg"}, {1, "empty.jpg"}, {2, "gone.jpg"}}) {
    try {
      pixels_of(*source, index);
      FAIL() << name;
    } catch (const CorruptSample& error) {
      EXPECT_THAT(error.what(), HasSubstr((folder_.path() / "train/a" / name).string()));
    }
  }
  EXPECT_NO_THROW(pixels_of(*source, 3));
}

TEST_F(JpegFolder, RefusesFoldersThatAreNoDataSet) {
  EXPECT_THAT(failure(folder_.path()), AllOf(HasSubstr((folder_.path() / "train").string()), HasSubstr("--data")));
  fs::create_directories(folder_.path() / "train");
  EXPECT_THAT(failure(folder_.path()), HasSubstr("0 class folders"));
  fs::create_directories(folder_.path() / "train/a");
  EXPECT_THAT(failure(folder_.path()), AllOf(HasSubstr("train/a"), HasSubstr("at least one .JPEG file")));
  add("train/a/x.jpg", {8, 8});
  EXPECT_EQ(failure(folder_.path()), "no error");
  add("train/b/x.jpg", {8, 8});
  add("train/c/x.jpg", {8, 8});
  EXPECT_THAT(failure(folder_.path(), Split::train, 2), AllOf(HasSubstr("3 class folders"), HasSubstr("1 to 2")));
  EXPECT_THAT(failure(folder_.path(), Split::validation), HasSubstr((folder_.path() / "val").string()));
  fs::create_directories(folder_.path() / "val");
  EXPECT_THAT(failure(folder_.path(), Split::validation), HasSubstr("at least one class folder"));
  add("val/d/x.jpg", {8, 8});
  EXPECT_THAT(failure(folder_.path(), Split::validation), AllOf(HasSubstr("val/d"), HasSubstr("train has too")));
}

}  // namespace
}  // namespace parabench::datasets
