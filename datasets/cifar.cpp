#include "datasets/cifar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "datasets/draws.h"
#include "datasets/input_file.h"
#include "datasets/normalise.h"

namespace parabench::datasets {
namespace {

constexpr int channels = 3, side = 32, plane = side * side, padding = 4;
constexpr std::int64_t record_bytes = 1 + channels * plane;
constexpr const char* hint = "unpack cifar-10-binary.tar.gz and give the folder that holds the .bin files as --data";

using Record = std::array<std::uint8_t, record_bytes>;

/// Where the 32x32 output lies in the padded image, and whether it is mirrored.
struct Augmentation {
  int down = padding, right = padding;
  bool flip = false;
};

Augmentation draw_augmentation(Draws draws) {
  return {static_cast<int>(draws.below(2 * padding + 1)), static_cast<int>(draws.below(2 * padding + 1)),
          draws.below(2) == 1};
}

void normalise(const Record& record, const Augmentation& augmentation, std::span<float> pixels) {
  float* out = pixels.data();
  for (int channel = 0; channel < channels; ++channel) {
    const std::uint8_t* in = record.data() + 1 + channel * plane;
    const float scale = cifar10_normalisation.scale(channel), black = cifar10_normalisation.offset(channel);
    for (int row = 0; row < side; ++row) {
      const int y = row + augmentation.down - padding;
      for (int column = 0; column < side; ++column) {
        const int x = (augmentation.flip ? side - 1 - column : column) + augmentation.right - padding;
        const bool inside = y >= 0 && y < side && x >= 0 && x < side;
        *out++ = inside ? static_cast<float>(in[y * side + x]) * scale + black : black;
      }
    }
  }
}

class CifarSource final : public SampleSource {
 public:
  CifarSource(const DatasetSpec& spec, const SourceOptions& options)
      : shape_(spec.sample), classes_(spec.classes), train_(options.split == Split::train), seed_(options.seed) {
    for (const char* name : train_ ? std::vector{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                                 "data_batch_4.bin", "data_batch_5.bin"}
                                   : std::vector{"test_batch.bin"}) {
      add_file((std::filesystem::path(options.directory) / name).string());
    }
  }

  std::int64_t size() const override { return ends_.back(); }
  TensorSpec shape() const override { return shape_; }

  void read_labels(std::int64_t index, std::span<std::int64_t> labels) const override {
    std::uint8_t label = 0;
    read_record(index, {&label, 1});
    labels[0] = label;
  }

  void read(std::int64_t index, std::int64_t epoch, SampleValues values) const override {
    Record record;
    read_record(index, record);
    normalise(record,
              train_ ? draw_augmentation(Draws(seed_, DrawPurpose::augmentation, epoch, index)) : Augmentation{},
              std::get<std::span<float>>(values));
  }

 private:
  void add_file(const std::string& path) {
    InputFile file(path);
    if (!file.is_open()) throw usage_error("cifar10 file", path, "a readable file", hint);
    const std::int64_t bytes = file.size();
    if (bytes <= 0 || bytes % record_bytes != 0) {
      throw usage_error(
          "cifar10 file " + path, bytes < 0 ? "no regular file" : fmt::format("{} bytes", bytes),
          fmt::format("a whole number of records of {} bytes, 10000 of them in the original", record_bytes), hint);
    }
    files_.push_back(std::move(file));
    ends_.push_back((ends_.empty() ? 0 : ends_.back()) + bytes / record_bytes);
  }

  /// The first `bytes.size()` bytes of a record, label checked.
  void read_record(std::int64_t index, std::span<std::uint8_t> bytes) const {
    const auto number = static_cast<std::size_t>(std::ranges::upper_bound(ends_, index) - ends_.begin());
    const std::int64_t record = index - (number == 0 ? 0 : ends_[number - 1]);
    const InputFile& file = files_[number];
    if (file.read_at(record * record_bytes, bytes) != bytes.size()) {
      throw CorruptSample(file.path(),
                          fmt::format("record {} could not be read: the file shrank or its disk failed", record));
    }
    if (bytes[0] >= classes_) {
      throw CorruptSample(file.path(),
                          fmt::format("record {} has label {}, expected 0 to {}", record, bytes[0], classes_ - 1));
    }
  }

  TensorSpec shape_;
  int classes_;
  bool train_;
  std::uint64_t seed_;
  std::vector<InputFile> files_;
  std::vector<std::int64_t> ends_;  // index behind the last sample of each file
};

}  // namespace

std::unique_ptr<SampleSource> open_cifar(const DatasetSpec& spec, const SourceOptions& options) {
  return std::make_unique<CifarSource>(spec, options);
}

}  // namespace parabench::datasets
