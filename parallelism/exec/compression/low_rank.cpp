#include "parallelism/exec/compression/low_rank.h"

#include <cmath>
#include <limits>
#include <string>

#include "base/random.h"

namespace parabench::exec {
namespace {

template <class T>
double dot(const T* a, const T* b, std::int64_t rows, std::int64_t stride) {
  double sum = 0;
  for (std::int64_t i = 0; i < rows * stride; i += stride) sum += double{a[i]} * b[i];
  return sum;
}

template <class T>
void orthonormalise(T* data, std::int64_t rows, std::int64_t columns, double dependent) {
  constexpr int passes = 2;  // one leaves columns that are nearly dependent far from orthogonal
  for (std::int64_t j = 0; j < columns; ++j) {
    T* const own = data + j;
    const double before = std::sqrt(dot(own, own, rows, columns));
    for (int pass = 0; pass < passes; ++pass) {
      for (std::int64_t k = 0; k < j; ++k) {
        const T* const other = data + k;
        const double along = dot(other, own, rows, columns);
        for (std::int64_t i = 0; i < rows * columns; i += columns) own[i] -= static_cast<T>(along * other[i]);
      }
    }
    const double left = std::sqrt(dot(own, own, rows, columns));
    const double factor = left > dependent * before ? 1 / left : 0;
    for (std::int64_t i = 0; i < rows * columns; i += columns) own[i] = static_cast<T>(own[i] * factor);
  }
}

}  // namespace

double dependent_share(torch::ScalarType type) {
  const double eps =
      type == torch::kFloat64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  return std::pow(eps, 0.75);
}

void orthonormalise(torch::Tensor columns) {
  const double dependent = dependent_share(columns.scalar_type());
  if (columns.scalar_type() == torch::kFloat64)
    orthonormalise(columns.data_ptr<double>(), columns.size(0), columns.size(1), dependent);
  else
    orthonormalise(columns.data_ptr<float>(), columns.size(0), columns.size(1), dependent);
}

void draw_column(torch::Tensor factor, std::int64_t column, std::string_view tensor, std::uint64_t seed) {
  const std::uint64_t stream = hash_name(std::string(tensor) + " factor");
  const std::int64_t rows = factor.size(0);
  auto values = torch::empty({rows}, torch::kFloat64);
  for (std::int64_t i = 0; i < rows; ++i)
    values.data_ptr<double>()[i] = counter_normal(seed, stream, column * rows + i);
  factor.select(1, column).copy_(values);
}

void draw_factor(torch::Tensor factor, std::string_view tensor, std::uint64_t seed) {
  for (std::int64_t column = 0; column < factor.size(1); ++column) draw_column(factor, column, tensor, seed);
}

void revive_columns(torch::Tensor factor, std::string_view tensor, std::uint64_t seed) {
  const torch::Tensor largest = factor.abs().amax(0).to(torch::kFloat64);
  for (std::int64_t column = 0; column < factor.size(1); ++column)
    if (largest[column].item<double>() == 0) draw_column(factor, column, tensor, seed);
}

}  // namespace parabench::exec
