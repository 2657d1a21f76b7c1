#include "datasets/synthetic_tokens.h"

#include <algorithm>
#include <vector>

#include "datasets/draws.h"

namespace parabench::datasets {
namespace {

class TokenSource final : public SampleSource {
 public:
  TokenSource(const DatasetSpec& spec, const SourceOptions& options)
      : shape_(spec.sample),
        vocabulary_(spec.classes),
        size_(options.split == Split::train ? spec.train_size : spec.validation_size),
        seed_(options.seed),
        split_(static_cast<std::int64_t>(options.split)) {}

  std::int64_t size() const override { return size_; }
  TensorSpec shape() const override { return shape_; }
  TensorSpec label_shape() const override { return shape_; }

  void read_labels(std::int64_t index, std::span<std::int64_t> labels) const override { write(index, 1, labels); }
  void read(std::int64_t index, std::int64_t, SampleValues values) const override {
    write(index, 0, std::get<std::span<std::int64_t>>(values));
  }

 private:
  /// The row from its token `first` on.
  void write(std::int64_t index, int first, std::span<std::int64_t> tokens) const {
    Draws draws(seed_, DrawPurpose::synthetic_tokens, index, split_);
    for (int skipped = 0; skipped < first; ++skipped) draws.bits();
    std::ranges::generate(tokens, [&] { return draws.below(vocabulary_); });
  }

  TensorSpec shape_;
  int vocabulary_;
  std::int64_t size_;
  std::uint64_t seed_;
  std::int64_t split_;
};

}  // namespace

std::unique_ptr<SampleSource> open_synthetic_tokens(const DatasetSpec& spec, const SourceOptions& options) {
  return std::make_unique<TokenSource>(spec, options);
}

}  // namespace parabench::datasets
