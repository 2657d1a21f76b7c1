// Samples that tell their number, and pieces to ask a loader for.
#pragma once

#include <atomic>
#include <functional>
#include <set>
#include <string>

#include "datasets/loader.h"

namespace parabench {

/// Sample i of epoch e is {i, e}, its label 10 i; some cannot be read.
class NumberedSource final : public SampleSource {
 public:
  explicit NumberedSource(std::int64_t size, std::set<std::int64_t> corrupt = {})
      : size_(size), corrupt_(std::move(corrupt)) {}
  std::int64_t size() const override { return size_; }
  TensorSpec shape() const override { return {2, 1, 1}; }
  int label(std::int64_t index) const override { return static_cast<int>(10 * index); }
  void read(std::int64_t index, std::int64_t epoch, std::span<float> pixels) const override {
    ++reads;
    if (corrupt_.contains(index)) throw CorruptSample("sample-" + std::to_string(index), "damaged");
    pixels[0] = static_cast<float>(index);
    pixels[1] = static_cast<float>(epoch);
  }
  mutable std::atomic<int> reads = 0;

 private:
  std::int64_t size_;
  std::set<std::int64_t> corrupt_;
};

/// Pieces of varying size, one behind the other, some empty.
inline PieceRequest uneven(std::int64_t piece) {
  return {piece * 3, piece % 5 == 4 ? 0 : 1 + static_cast<int>(piece % 3)};
}

/// All of one size, one behind the other.
inline std::function<PieceRequest(std::int64_t)> equal(int samples) {
  return [samples](std::int64_t piece) { return PieceRequest{piece * samples, samples}; };
}

}  // namespace parabench
