#include "datasets/mnist.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "datasets/idx.h"
#include "datasets/normalise.h"

namespace parabench::datasets {
namespace {

constexpr const char* hint = "give the folder of MNIST's four IDX files, with or without .gz, as --data";

/// The file as it lies in the folder, compressed or not.
std::string find_file(const std::string& folder, const std::string& name) {
  const std::filesystem::path plain = std::filesystem::path(folder) / name;
  std::error_code hidden;
  if (std::filesystem::exists(plain, hidden)) return plain.string();
  if (hidden) throw usage_error("mnist file", plain.string(), "a readable file", hidden.message());
  std::filesystem::path packed = plain;
  packed += ".gz";
  if (std::filesystem::exists(packed, hidden)) return packed.string();
  throw usage_error("mnist file", plain.string(), "this file, or the same with .gz", hint);
}

class MnistSource final : public SampleSource {
 public:
  MnistSource(const DatasetSpec& spec, const SourceOptions& options) : shape_(spec.sample) {
    const std::string prefix = options.split == Split::train ? "train" : "t10k";
    const std::string image_file = find_file(options.directory, prefix + "-images-idx3-ubyte");
    const std::string label_file = find_file(options.directory, prefix + "-labels-idx1-ubyte");
    images_ = read_idx(image_file, 3);
    labels_ = read_idx(label_file, 1);
    if (images_.dims[1] != shape_[1] || images_.dims[2] != shape_[2]) {
      throw usage_error("mnist file " + image_file, fmt::format("images of {}x{}", images_.dims[1], images_.dims[2]),
                        fmt::format("{}x{}", shape_[1], shape_[2]), hint);
    }
    if (images_.dims[0] != labels_.dims[0]) {
      throw usage_error("mnist file " + label_file, fmt::format("{} labels", labels_.dims[0]),
                        fmt::format("as many as images in {}: {}", image_file, images_.dims[0]), hint);
    }
    const auto wrong = std::ranges::find_if(labels_.bytes, [&](int label) { return label >= spec.classes; });
    if (wrong != labels_.bytes.end()) {
      throw usage_error("mnist file " + label_file,
                        fmt::format("label {} of image {}", *wrong, wrong - labels_.bytes.begin()),
                        fmt::format("0 to {}", spec.classes - 1), hint);
    }
  }

  std::int64_t size() const override { return images_.dims[0]; }
  TensorSpec shape() const override { return shape_; }
  void read_labels(std::int64_t index, std::span<std::int64_t> labels) const override {
    labels[0] = labels_.bytes[static_cast<std::size_t>(index)];
  }

  void read(std::int64_t index, std::int64_t, SampleValues values) const override {
    const std::uint8_t* image = images_.bytes.data() + index * shape_.elements();
    const float scale = mnist_normalisation.scale(0), offset = mnist_normalisation.offset(0);
    std::transform(image, image + shape_.elements(), std::get<std::span<float>>(values).begin(),
                   [=](std::uint8_t byte) { return static_cast<float>(byte) * scale + offset; });
  }

 private:
  TensorSpec shape_;
  IdxArray images_, labels_;
};

}  // namespace

std::unique_ptr<SampleSource> open_mnist(const DatasetSpec& spec, const SourceOptions& options) {
  return std::make_unique<MnistSource>(spec, options);
}

}  // namespace parabench::datasets
