#include "parallelism/exec/compression/low_rank.h"

#include <cmath>
#include <limits>
#include <string>

#include "base/random.h"

namespace parabench::exec {
namespace {

template <class T>
double dot(const T* a, const T* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += double{a[i]} * b[i];
  return sum;
}

template <class T>
void orthonormalise(T* data, std::int64_t vectors, std::int64_t n, double dependent) {
  constexpr int passes = 2;  // one leaves vectors that are nearly dependent far from orthogonal
  for (std::int64_t j = 0; j < vectors; ++j) {
    T* const own = data + j * n;
    const double before = std::sqrt(dot(own, own, n));
    for (int pass = 0; pass < passes; ++pass) {
      for (const T* other = data; other < own; other += n) {
        const double along = dot(other, own, n);
        for (std::int64_t i = 0; i < n; ++i) own[i] -= static_cast<T>(along * other[i]);
      }
    }
    const double left = std::sqrt(dot(own, own, n));
    const double factor = left > dependent * before ? 1 / left : 0;
    for (std::int64_t i = 0; i < n; ++i) own[i] = static_cast<T>(own[i] * factor);
  }
}

}  // namespace

double dependent_share(torch::ScalarType type) {
  const double eps =
      type == torch::kFloat64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  return std::pow(eps, 0.75);
}

void orthonormalise(torch::Tensor vectors) {
  const double dependent = dependent_share(vectors.scalar_type());
  if (vectors.scalar_type() == torch::kFloat64)
    orthonormalise(vectors.data_ptr<double>(), vectors.size(0), vectors.size(1), dependent);
  else
    orthonormalise(vectors.data_ptr<float>(), vectors.size(0), vectors.size(1), dependent);
}

void draw_vector(torch::Tensor factor, std::int64_t index, std::string_view tensor, std::uint64_t seed) {
  const std::uint64_t stream = hash_name(std::string(tensor) + " factor");
  const std::int64_t n = factor.size(1);
  auto values = torch::empty({n}, torch::kFloat64);
  for (std::int64_t i = 0; i < n; ++i) values.data_ptr<double>()[i] = counter_normal(seed, stream, index * n + i);
  factor[index].copy_(values);
}

void draw_factor(torch::Tensor factor, std::string_view tensor, std::uint64_t seed) {
  for (std::int64_t k = 0; k < factor.size(0); ++k) draw_vector(factor, k, tensor, seed);
}

void revive_vectors(torch::Tensor factor, std::string_view tensor, std::uint64_t seed) {
  for (std::int64_t k = 0; k < factor.size(0); ++k)
    if (!factor[k].any().item<bool>()) draw_vector(factor, k, tensor, seed);
}

}  // namespace parabench::exec
