// What a tensor is: its dimensions and the kind of its elements.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace parabench {

/// `real`: numbers of the run's type of activations; `int64`: indices such as token ids; `sums`: fp64 numbers that a
/// micro-batch has once, however many its samples are, such as the statistics of a batch norm.
enum class ElementKind : std::uint8_t { real, int64, sums };
constexpr std::array<std::string_view, 3> names_of(ElementKind) { return {"real", "int64", "sums"}; }

/// One sample of a tensor, without the batch: an image or map is {channels, height, width}, a row of tokens {length},
/// of kind int64, a sequence {length, features}, a vector {features}; of kind sums the tensor of the whole micro-batch.
/// At most 3 dimensions. Cheap to copy.
class TensorSpec {
 public:
  constexpr TensorSpec() = default;
  constexpr TensorSpec(std::initializer_list<std::int64_t> dims, ElementKind kind = ElementKind::real) : kind_(kind) {
    if (dims.size() > dims_.size()) throw std::logic_error("a tensor of more than 3 dimensions");
    rank_ = static_cast<int>(dims.size());
    std::copy(dims.begin(), dims.end(), dims_.begin());
  }

  constexpr int rank() const { return rank_; }
  constexpr std::int64_t operator[](int dim) const { return dims_[dim]; }
  constexpr std::span<const std::int64_t> dims() const { return std::span(dims_).first(rank_); }
  constexpr ElementKind kind() const { return kind_; }
  constexpr std::int64_t elements() const {
    std::int64_t product = 1;
    for (int dim = 0; dim < rank_; ++dim) product *= dims_[dim];
    return product;
  }
  /// Bytes of so many samples, where a real number has `real_bytes`.
  constexpr std::int64_t bytes(std::int64_t samples, std::int64_t real_bytes) const {
    constexpr std::int64_t wide_bytes = 8;
    const std::int64_t each = kind_ == ElementKind::real ? real_bytes : wide_bytes;
    return elements() * each * (kind_ == ElementKind::sums ? 1 : samples);
  }
  /// Elements for each entry of the first dimension: the pixels of a map.
  constexpr std::int64_t elements_per_row() const {
    return rank_ == 0 ? 1 : elements() / std::max<std::int64_t>(1, dims_[0]);
  }
  constexpr TensorSpec with(int dim, std::int64_t size) const {
    TensorSpec other = *this;
    other.dims_[dim] = size;
    return other;
  }
  constexpr bool operator==(const TensorSpec&) const = default;

 private:
  std::array<std::int64_t, 3> dims_{};
  int rank_ = 0;
  ElementKind kind_ = ElementKind::real;
};

/// "3x32x32"; of indices "128:int64", of sums "129:sums".
std::string to_text(const TensorSpec& tensor);

}  // namespace parabench
