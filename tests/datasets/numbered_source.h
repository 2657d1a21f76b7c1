// Samples that tell their number, and pieces to ask a loader for.
#pragma once

#include <atomic>
#include <functional>
#include <set>
#include <string>

#include "datasets/loader.h"

namespace parabench::datasets {

/// Sample i of epoch e is {i, e}, its label 10 i; some cannot be read.
class NumberedSource final : public SampleSource {
 public:
  explicit NumberedSource(std::int64_t size, std::set<std::int64_t> corrupt = {})
      : size_(size), corrupt_(std::move(corrupt)) {}
  std::int64_t size() const override { return size_; }
  TensorSpec shape() const override { return {2, 1, 1}; }
  void read_labels(std::int64_t index, std::span<std::int64_t> labels) const override { labels[0] = 10 * index; }
  void read(std::int64_t index, std::int64_t epoch, SampleValues values) const override {
    ++reads;
    if (corrupt_.contains(index)) throw CorruptSample("sample-" + std::to_string(index), "damaged");
    const auto pixels = std::get<std::span<float>>(values);
    pixels[0] = static_cast<float>(index);
    pixels[1] = static_cast<float>(epoch);
  }
  mutable std::atomic<int> reads = 0;

 private:
  std::int64_t size_;
  std::set<std::int64_t> corrupt_;
};

/// A piece's values, of a source of real numbers.
inline std::span<float> real_of(const LoadedPiece& piece) { return std::get<std::span<float>>(piece.values); }

/// Pieces of varying size, one behind the other, some empty.
inline PieceRequest uneven(std::int64_t piece) {
  return {piece * 3, piece % 5 == 4 ? 0 : 1 + static_cast<int>(piece % 3)};
}

/// All of one size, one behind the other.
inline std::function<PieceRequest(std::int64_t)> equal(int samples) {
  return [samples](std::int64_t piece) { return PieceRequest{piece * samples, samples}; };
}

}  // namespace parabench::datasets
