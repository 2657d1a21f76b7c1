#include "models/torch/operations/dropout.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "base/random.h"

namespace parabench::modules {
namespace {

constexpr std::uint64_t increment = 0x9e3779b97f4a7c15ULL;

/// A draw of 53 bits leaves its element where it is not below.
std::int64_t threshold(double probability) { return static_cast<std::int64_t>(std::ceil(std::ldexp(probability, 53))); }

std::int64_t per_sample(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(sizes.begin() + 1, sizes.end(), std::int64_t{1}, std::multiplies<>());
}

/// x >> bits with zeros from the left, of int64.
torch::Tensor logical_shift(const torch::Tensor& x, int bits) {
  return at::bitwise_right_shift(x, bits).bitwise_and_((std::int64_t{1} << (64 - bits)) - 1);
}

/// mix64 of base/random.h.
torch::Tensor mix(torch::Tensor x) {
  x = at::bitwise_xor(x, logical_shift(x, 30)).mul_(static_cast<std::int64_t>(0xbf58476d1ce4e5b9ULL));
  x = at::bitwise_xor(x, logical_shift(x, 27)).mul_(static_cast<std::int64_t>(0x94d049bb133111ebULL));
  return at::bitwise_xor(x, logical_shift(x, 31));
}

}  // namespace

torch::Tensor dropout_mask(const std::vector<std::int64_t>& sizes, double probability, const std::string& name,
                           const DropoutDraws& draws, const torch::TensorOptions& options) {
  if (!options.device().is_cpu()) return dropout_mask_on_device(sizes, probability, name, draws, options);
  const std::uint64_t stream = hash_name(name);
  const auto first = static_cast<std::uint64_t>(draws.first_sample * per_sample(sizes));
  const auto dropped = static_cast<std::uint64_t>(threshold(probability));
  const torch::Tensor mask = torch::empty(sizes, options);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, mask.scalar_type(), "dropout_mask", [&] {
    auto* out = mask.data_ptr<scalar_t>();
    const auto left = static_cast<scalar_t>(1 / (1 - probability));
    at::parallel_for(0, mask.numel(), at::internal::GRAIN_SIZE, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const bool drops = counter_hash(draws.seed, stream, first + static_cast<std::uint64_t>(i)) >> 11 < dropped;
        out[i] = drops ? scalar_t(0) : left;
      }
    });
  });
  return mask;
}

torch::Tensor dropout_mask_on_device(const std::vector<std::int64_t>& sizes, double probability,
                                     const std::string& name, const DropoutDraws& draws,
                                     const torch::TensorOptions& options) {
  // As counter_hash() does, whose sums wrap around like these.
  const auto base = static_cast<std::int64_t>(mix64(mix64(hash_name(name) + increment) ^ draws.seed));
  const std::int64_t elements = per_sample(sizes), first = draws.first_sample * elements;
  torch::Tensor index = at::arange(first + 1, first + 1 + sizes[0] * elements, options.dtype(torch::kInt64));
  const torch::Tensor hash = mix(index.mul_(static_cast<std::int64_t>(increment)).add_(base));
  return logical_shift(hash, 11).ge(threshold(probability)).to(options.dtype()).mul_(1 / (1 - probability)).view(sizes);
}

torch::Tensor compute(const models::Dropout& op, const Call& call) {
  const torch::Tensor& x = call.x();
  std::vector<std::int64_t> sizes = x.sizes().vec();
  if (op.channels) sizes[2] = sizes[3] = 1;
  return x.mul(dropout_mask(sizes, op.probability, call.name, call.mode.dropout, x.options()));
}

}  // namespace parabench::modules
