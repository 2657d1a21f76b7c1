#include "datasets/synthetic_masks.h"

#include <utility>

#include "datasets/draws.h"
#include "datasets/synthetic.h"

namespace parabench::datasets {
namespace {

/// In units of an image's side.
struct Disc {
  double row, column, radius;
  bool holds(double y, double x) const {
    return (y - row) * (y - row) + (x - column) * (x - column) <= radius * radius;
  }
};

class MaskSource final : public SampleSource {
 public:
  MaskSource(std::unique_ptr<SampleSource> noise, const DatasetSpec& spec, const SourceOptions& options)
      : noise_(std::move(noise)),
        label_shape_(datasets::label_shape(spec)),
        seed_(options.seed),
        split_(static_cast<std::int64_t>(options.split)) {}

  std::int64_t size() const override { return noise_->size(); }
  TensorSpec shape() const override { return noise_->shape(); }
  TensorSpec label_shape() const override { return label_shape_; }

  void read_labels(std::int64_t index, std::span<std::int64_t> labels) const override {
    for_each_pixel(index, [&](std::int64_t pixel, bool inside) { labels[static_cast<std::size_t>(pixel)] = inside; });
  }

  void read(std::int64_t index, std::int64_t epoch, SampleValues values) const override {
    noise_->read(index, epoch, values);
    const auto pixels = std::get<std::span<float>>(values);
    const std::int64_t channels = shape()[0], plane = shape().elements_per_row();
    for_each_pixel(index, [&](std::int64_t pixel, bool inside) {
      for (std::int64_t channel = 0; channel < channels && inside; ++channel)
        pixels[static_cast<std::size_t>(channel * plane + pixel)] += 1;
    });
  }

 private:
  template <class Visit>
  void for_each_pixel(std::int64_t index, Visit visit) const {
    Draws draws(seed_, DrawPurpose::synthetic_mask, index, split_);
    const double row = draws.uniform(), column = draws.uniform();
    const Disc disc{row, column, draws.uniform(0.125, 0.5)};
    const std::int64_t height = shape()[1], width = shape()[2];
    for (std::int64_t y = 0, pixel = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x, ++pixel)
        visit(pixel, disc.holds((static_cast<double>(y) + 0.5) / static_cast<double>(height),
                                (static_cast<double>(x) + 0.5) / static_cast<double>(width)));
    }
  }

  std::unique_ptr<SampleSource> noise_;
  TensorSpec label_shape_;
  std::uint64_t seed_;
  std::int64_t split_;
};

}  // namespace

std::unique_ptr<SampleSource> open_synthetic_masks(const DatasetSpec& spec, const SourceOptions& options) {
  return std::make_unique<MaskSource>(open_synthetic(spec, options), spec, options);
}

}  // namespace parabench::datasets
