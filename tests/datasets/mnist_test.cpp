#include "datasets/mnist.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <zlib.h>

#include <functional>

#include "base/error.h"
#include "datasets/idx.h"
#include "tests/datasets/label_of.h"
#include "tests/datasets/sample_files.h"

namespace parabench::datasets {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;
using Data = std::vector<std::uint8_t>;

constexpr int pixels = 28 * 28;
const DatasetSpec spec = make_dataset({"mnist", {}});

Data idx(const std::vector<std::uint32_t>& dims, const Data& bytes) {
  Data file{0, 0, 8, static_cast<std::uint8_t>(dims.size())};
  for (const std::uint32_t dim : dims)
    for (const int shift : {24, 16, 8, 0}) file.push_back(static_cast<std::uint8_t>(dim >> shift));
  file.insert(file.end(), bytes.begin(), bytes.end());
  return file;
}

Data gzip(const Data& bytes) {
  Data packed(compressBound(bytes.size()) + 32);
  z_stream stream{};
  constexpr int gzip_window = 15 + 16;
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::uint8_t pixel(int image, int position) { return static_cast<std::uint8_t>(image * 31 + position * 7); }

Data images(int count) {
  Data bytes;
  for (int image = 0; image < count; ++image)
    for (int position = 0; position < pixels; ++position) bytes.push_back(pixel(image, position));
  return bytes;
}

Data labels(int count) {
  Data bytes;
  for (int image = 0; image < count; ++image) bytes.push_back(static_cast<std::uint8_t>((3 * image + 1) % 10));
  return bytes;
}

void write_mnist(const fs::path& folder, const std::string& prefix, int count, bool packed) {
  const auto write = [&](const std::string& name, const Data& bytes) {
    if (packed)
      write_file(folder / (name + ".gz"), gzip(bytes));
    else
      write_file(folder / name, bytes);
  };
  write(prefix + "-images-idx3-ubyte", idx({static_cast<std::uint32_t>(count), 28, 28}, images(count)));
  write(prefix + "-labels-idx1-ubyte", idx({static_cast<std::uint32_t>(count)}, labels(count)));
}

std::string failure(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no error";
}

TEST(Mnist, ReadsPlainAndPackedFilesAlike) {
  for (const bool packed : {false, true}) {
    TemporaryFolder folder;
    write_mnist(folder.path(), "train", 5, packed);
    write_mnist(folder.path(), "t10k", 2, packed);
    const auto train = open_source(spec, {folder.path().string(), Split::train, 1});
    EXPECT_EQ(train->size(), 5);
    EXPECT_EQ(open_source(spec, {folder.path().string(), Split::validation, 1})->size(), 2);
    std::vector<float> values(pixels);
    for (int image = 0; image < 5; ++image) {
      EXPECT_EQ(label_of(*train, image), (3 * image + 1) % 10);
      train->read(image, /*epoch=*/image, values);
      for (int position = 0; position < pixels; ++position)
        ASSERT_NEAR(values[static_cast<std::size_t>(position)],
                    (static_cast<float>(pixel(image, position)) / 255 - 0.1307F) / 0.3081F, 1e-5F);
    }
  }
}

TEST(Mnist, FilesThatAreNotThereOrDisagreeAreNamed) {
  TemporaryFolder folder;
  const fs::path& path = folder.path();
  const auto open = [&] { open_source(spec, {path.string(), Split::train, 1}); };
  EXPECT_THAT(failure(open), AllOf(HasSubstr("train-images-idx3-ubyte"), HasSubstr(".gz"), HasSubstr("--data")));
  write_file(path / "train-images-idx3-ubyte", idx({3, 28, 28}, images(3)));
  write_file(path / "train-labels-idx1-ubyte", idx({2}, labels(2)));
  EXPECT_THAT(failure(open), AllOf(HasSubstr("train-labels-idx1-ubyte"), HasSubstr("2 labels"), HasSubstr("3")));
  write_file(path / "train-labels-idx1-ubyte", idx({3}, {0, 10, 1}));
  EXPECT_THAT(failure(open), AllOf(HasSubstr("label 10 of image 1"), HasSubstr("0 to 9")));
  write_file(path / "train-images-idx3-ubyte", idx({3, 14, 56}, images(3)));
  EXPECT_THAT(failure(open), AllOf(HasSubstr("14x56"), HasSubstr("28x28")));
  const std::string nowhere(300, 'x');  // no system looks for it
  EXPECT_THAT(failure([&] {
                open_source(spec, {nowhere, Split::train, 1});
              }),
              AllOf(HasSubstr(nowhere), HasSubstr("File name too long")));
}

TEST(Idx, HasItsSizesAndItsBytes) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "array";
  write_file(path, idx({2, 3}, {1, 2, 3, 4, 5, 6}));
  const IdxArray array = read_idx(path.string(), 2);
  EXPECT_THAT(array.dims, ElementsAre(2, 3));
  EXPECT_THAT(array.bytes, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Idx, AHeaderThatAsksForMoreThanThereIsTakesNoMemory) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "array";
  write_file(path, idx({1 << 15, 1 << 15}, Data(3'000'000, 7)));
  const auto resident_peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  };
  const auto before = resident_peak();
  EXPECT_THAT(failure([&] { read_idx(path.string(), 2); }),
              AllOf(HasSubstr("3000000 bytes of data"), HasSubstr("1073741824 bytes as its header says")));
  EXPECT_LT(resident_peak() - before, 1 << 18);
}

TEST(Idx, WhatIsNoWholeFileIsRefusedWithItsName) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "array";
  const auto refused = [&](const Data& bytes, int dimensions = 2) {
    write_file(path, bytes);
    const std::string text = failure([&] { read_idx(path.string(), dimensions); });
    EXPECT_THAT(text, HasSubstr(path.string()));
    return text;
  };
  const Data whole = idx({2, 3}, {1, 2, 3, 4, 5, 6});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Data cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_THAT(refused(cut), length < 12 ? HasSubstr("header") : HasSubstr("6 bytes as its header says: 2 x 3"));
  }
  EXPECT_THAT(refused(idx({2, 3}, {1, 2, 3, 4, 5, 6, 7})), HasSubstr("more bytes"));
  EXPECT_THAT(refused(whole, 3), HasSubstr("0x00000803: unsigned bytes in 3 dimensions"));
  EXPECT_THAT(refused(idx({2, 3, 1}, {1, 2, 3, 4, 5, 6})),
              AllOf(HasSubstr("0x00000803"), HasSubstr("0x00000802: unsigned bytes in 2 dimensions")));
  EXPECT_THAT(refused(idx({0xffffffff, 0xffffffff}, {})), HasSubstr("4294967295 x 4294967295"));
  EXPECT_THAT(refused(idx({0, 3}, {})), HasSubstr("0 x 3"));
  const Data packed = gzip(idx({100, 100}, Data(10'000, 9)));
  EXPECT_THAT(refused(Data(packed.begin(), packed.end() - 12)), HasSubstr("10000 bytes as its header says: 100 x 100"));
}

}  // namespace
}  // namespace parabench::datasets
