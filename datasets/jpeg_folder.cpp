#include "datasets/jpeg_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "datasets/cut.h"
#include "datasets/draws.h"
#include "datasets/image_list.h"
#include "datasets/input_file.h"
#include "datasets/jpeg.h"
#include "datasets/normalise.h"
#include "datasets/resample.h"

namespace parabench::datasets {
namespace {

void read_whole(const std::string& path, std::vector<std::uint8_t>& bytes) {
  const InputFile file(path);
  if (!file.is_open()) throw CorruptSample(path, std::strerror(errno));
  const std::int64_t size = file.size();
  if (size < 0) throw CorruptSample(path, "no regular file");
  bytes.resize(static_cast<std::size_t>(size));
  if (file.read_at(0, bytes) != bytes.size()) throw CorruptSample(path, "the file shrank or its disk failed");
}

class JpegFolderSource final : public SampleSource {
 public:
  JpegFolderSource(const DatasetSpec& spec, const SourceOptions& options)
      : shape_(spec.sample),
        train_(options.split == Split::train),
        seed_(options.seed),
        images_(list_images(options.directory, train_ ? "train" : "val", spec.classes)) {}

  std::int64_t size() const override { return images_.size(); }
  TensorSpec shape() const override { return shape_; }
  void read_labels(std::int64_t index, std::span<std::int64_t> labels) const override {
    labels[0] = images_.label(index);
  }

  void read(std::int64_t index, std::int64_t epoch, SampleValues values) const override {
    // Kept by each thread: fresh buffers of this size would be mapped and cleared by the system for every
    // image.
    thread_local std::vector<std::uint8_t> bytes;
    thread_local PixelWindow window;

    const std::string path = images_.path(index);
    read_whole(path, bytes);
    JpegReader jpeg(bytes, path);
    const int pixels = static_cast<int>(shape_[2]);
    const Cut cut = train_
                        ? random_cut(jpeg.width(), jpeg.height(), Draws(seed_, DrawPurpose::augmentation, epoch, index))
                        : centre_cut(jpeg.width(), jpeg.height(), pixels);
    const int denominator = decode_denominator(cut, pixels);
    const Cut small = reduced(cut, denominator);
    jpeg.decode(denominator, footprint(small, pixels), window);
    resample(window, small, pixels, imagenet_normalisation, std::get<std::span<float>>(values));
  }

 private:
  TensorSpec shape_;
  bool train_;
  std::uint64_t seed_;
  ImageList images_;
};

}  // namespace

std::unique_ptr<SampleSource> open_jpeg_folder(const DatasetSpec& spec, const SourceOptions& options) {
  return std::make_unique<JpegFolderSource>(spec, options);
}

}  // namespace parabench::datasets
