#include "datasets/cifar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/error.h"
#include "tests/datasets/label_of.h"
#include "tests/datasets/sample_files.h"

namespace parabench::datasets {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const DatasetSpec spec{"cifar10", DataSource::cifar_binary, {3, 32, 32}, 10, 50'000, 10'000, true};
constexpr float means[] = {0.4914F, 0.4822F, 0.4465F}, deviations[] = {0.2470F, 0.2435F, 0.2616F};

float normalised(int byte, int channel) {
  return (static_cast<float>(byte) / 255 - means[channel]) / deviations[channel];
}

std::vector<float> pixels_of(const SampleSource& source, std::int64_t index, std::int64_t epoch = 0) {
  std::vector<float> pixels(3072);
  source.read(index, epoch, pixels);
  return pixels;
}

/// The record padded by 4 black pixels, cut `down` and `right` of the padded corner, mirrored or not.
bool shows(const std::vector<float>& pixels, int number, int down, int right, bool flip) {
  for (int c = 0, i = 0; c < 3; ++c) {
    for (int row = 0; row < 32; ++row) {
      for (int column = 0; column < 32; ++column, ++i) {
        const int y = row + down - 4, x = (flip ? 31 - column : column) + right - 4;
        const int byte = y < 0 || y > 31 || x < 0 || x > 31 ? 0 : cifar_pixel(number, c, y, x);
        if (std::abs(pixels[static_cast<std::size_t>(i)] - normalised(byte, c)) > 1e-5F) return false;
      }
    }
  }
  return true;
}

std::string failure(const fs::path& folder, Split split = Split::train) {
  try {
    open_source(spec, {folder.string(), split, 1});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no error";
}

TEST(Cifar, ReadsValidationRecordsAsTheyAre) {
  TemporaryFolder folder;
  write_cifar(folder.path(), 3);
  const auto source = open_source(spec, {folder.path().string(), Split::validation, 1});
  ASSERT_EQ(source->size(), 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(label_of(*source, i), i);
    EXPECT_TRUE(shows(pixels_of(*source, i, 9), 1000 + i, 4, 4, false));
  }
}

TEST(Cifar, NumbersTrainingRecordsAcrossFiles) {
  TemporaryFolder folder;
  write_cifar(folder.path(), 4);
  const auto source = open_source(spec, {folder.path().string(), Split::train, 1});
  ASSERT_EQ(source->size(), 20);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(label_of(*source, i), i % 10);
}

TEST(Cifar, CutsAndFlipsTrainingRecordsBySeedEpochAndIndex) {
  TemporaryFolder folder;
  write_cifar(folder.path(), 2);
  const auto source = open_source(spec, {folder.path().string(), Split::train, 1});
  std::set<int> downs, rights, flips;
  for (int epoch = 0; epoch < 60; ++epoch) {
    const auto pixels = pixels_of(*source, 7, epoch);
    int matches = 0;
    for (int down = 0; down <= 8; ++down) {
      for (int right = 0; right <= 8; ++right) {
        for (const bool flip : {false, true}) {
          if (!shows(pixels, 7, down, right, flip)) continue;
          ++matches;
          downs.insert(down), rights.insert(right), flips.insert(flip);
        }
      }
    }
    EXPECT_EQ(matches, 1) << "epoch " << epoch;
  }
  EXPECT_EQ(downs.size(), 9u);
  EXPECT_EQ(rights.size(), 9u);
  EXPECT_EQ(flips.size(), 2u);
  const auto again = open_source(spec, {folder.path().string(), Split::train, 1});
  const auto other = open_source(spec, {folder.path().string(), Split::train, 2});
  int equal_with_other_seed = 0;
  for (int epoch = 0; epoch < 10; ++epoch) {
    EXPECT_EQ(pixels_of(*source, 3, epoch), pixels_of(*again, 3, epoch));
    equal_with_other_seed += pixels_of(*source, 3, epoch) == pixels_of(*other, 3, epoch);
  }
  EXPECT_LT(equal_with_other_seed, 4);
}

TEST(Cifar, RefusesFilesOfAnotherSizeNamingFileSizeAndExpectation) {
  TemporaryFolder folder;
  write_cifar(folder.path(), 2);
  const fs::path file = folder.path() / "data_batch_3.bin";
  fs::resize_file(file, 2 * 3073 - 1);
  EXPECT_THAT(failure(folder.path()), AllOf(HasSubstr(file.string()), HasSubstr("6145 bytes"), HasSubstr("3073")));
  fs::resize_file(file, 0);
  EXPECT_THAT(failure(folder.path()), AllOf(HasSubstr(file.string()), HasSubstr("'0 bytes'")));
  fs::remove(file);
  EXPECT_THAT(failure(folder.path()), AllOf(HasSubstr(file.string()), HasSubstr("--data")));
  fs::create_directory(file);
  EXPECT_THAT(failure(folder.path()), AllOf(HasSubstr(file.string()), HasSubstr("no regular file")));
  EXPECT_EQ(failure(folder.path(), Split::validation), "no error");
  EXPECT_THAT(failure(folder.path() / "absent"), HasSubstr("data_batch_1.bin"));
}

TEST(Cifar, NamesTheRecordOfABadLabel) {
  TemporaryFolder folder;
  auto records = cifar_records(0, 3);
  records[3073] = 10;
  write_file(folder.path() / "test_batch.bin", records);
  const auto source = open_source(spec, {folder.path().string(), Split::validation, 1});
  EXPECT_EQ(label_of(*source, 0), 0);
  for (const bool pixels : {false, true}) {
    try {
      pixels ? void(pixels_of(*source, 1)) : void(label_of(*source, 1));
      FAIL() << "no error";
    } catch (const CorruptSample& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("test_batch.bin"), HasSubstr("record 1"), HasSubstr("label 10")));
    }
  }
}

TEST(Cifar, SurvivesAFileThatShrinksWhileItIsRead) {
  TemporaryFolder folder;
  write_cifar(folder.path(), 3);
  const auto source = open_source(spec, {folder.path().string(), Split::validation, 1});
  fs::resize_file(folder.path() / "test_batch.bin", 3073 + 100);
  EXPECT_NO_THROW(pixels_of(*source, 0));
  EXPECT_THROW(pixels_of(*source, 1), CorruptSample);
  EXPECT_THROW(label_of(*source, 2), CorruptSample);
}

}  // namespace
}  // namespace parabench::datasets
