#include "datasets/synthetic.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "datasets/draws.h"

namespace parabench::datasets {
namespace {

constexpr std::int64_t pool_bytes = 64LL << 20;
constexpr std::int64_t pool_least_samples = 64;

/// Irwin-Hall: the sum of the four 16-bit fields of one draw, shifted and scaled to mean 0 and variance 1.
/// Box-Muller would take ten times as long on the core of a compute thread while the pool fills.
std::vector<float> normal_pixels(std::int64_t count, Draws draws) {
  constexpr float mean = 2 * 65535.0F;
  const float scale = std::sqrt(3.0F) / 65536.0F;  // the variance of four uniform numbers is 4 / 12
  std::vector<float> pixels(static_cast<std::size_t>(count));
  for (float& pixel : pixels) {
    const std::uint64_t bits = draws.bits();
    const auto sum = static_cast<int>((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
    pixel = (static_cast<float>(sum) - mean) * scale;
  }
  return pixels;
}

class SyntheticSource final : public SampleSource {
 public:
  SyntheticSource(const DatasetSpec& spec, const SourceOptions& options)
      : shape_(spec.sample),
        classes_(spec.classes),
        size_(options.split == Split::train ? spec.train_size : spec.validation_size),
        seed_(options.seed),
        split_(static_cast<std::int64_t>(options.split)),
        pool_(static_cast<std::size_t>(std::min(size_, pool_samples(shape_)))) {}

  std::int64_t size() const override { return size_; }
  TensorSpec shape() const override { return shape_; }

  void read_labels(std::int64_t index, std::span<std::int64_t> labels) const override {
    labels[0] = Draws(seed_, DrawPurpose::synthetic_label, index, split_).below(classes_);
  }

  void read(std::int64_t index, std::int64_t, SampleValues values) const override {
    const auto entry = static_cast<std::size_t>(index) % pool_.size();
    Entry& sample = pool_[entry];
    std::call_once(sample.made, [&] {
      sample.pixels = normal_pixels(
          shape_.elements(), Draws(seed_, DrawPurpose::synthetic_pixels, static_cast<std::int64_t>(entry), split_));
    });
    std::copy(sample.pixels.begin(), sample.pixels.end(), std::get<std::span<float>>(values).begin());
  }

 private:
  struct Entry {
    std::once_flag made;
    std::vector<float> pixels;
  };

  static std::int64_t pool_samples(const TensorSpec& shape) {
    const auto sample_bytes = shape.elements() * static_cast<std::int64_t>(sizeof(float));
    return std::max(pool_least_samples, pool_bytes / sample_bytes);
  }

  TensorSpec shape_;
  int classes_;
  std::int64_t size_;
  std::uint64_t seed_;
  std::int64_t split_;
  mutable std::vector<Entry> pool_;  // filled on first use
};

}  // namespace

std::unique_ptr<SampleSource> open_synthetic(const DatasetSpec& spec, const SourceOptions& options) {
  return std::make_unique<SyntheticSource>(spec, options);
}

}  // namespace parabench::datasets
