#include "tests/models/torch/network.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <functional>
#include <numeric>

namespace parabench::models {
namespace {

/// Threads of several test programs at once wait for each other; the networks are too small to gain by them.
struct OneThread : testing::Environment {
  void SetUp() override { at::set_num_threads(1); }
};
[[maybe_unused]] const auto* const one_thread = testing::AddGlobalTestEnvironment(new OneThread);

}  // namespace

torch::Tensor pattern(std::int64_t index, std::int64_t elements) {
  torch::Tensor values = torch::empty({elements}, torch::kFloat64);
  double* out = values.data_ptr<double>();
  for (std::int64_t element = 0; element < elements; ++element) {
    auto h = static_cast<std::uint32_t>(element * 2654435761LL + index * 40503 + 1);
    h ^= h >> 15;
    h *= 2246822519U;
    h ^= h >> 13;
    out[element] = h / 4294967296.0 - 0.5;
  }
  return values;
}

void fill(Network& network) {
  const torch::NoGradGuard no_grad;
  std::int64_t index = 0;
  for (const ParameterPlace& place : network.places()) {
    torch::Tensor& parameter = network.tensor(place);
    torch::Tensor values = pattern(index++, parameter.numel()).view_as(parameter);
    if (parameter.dim() == 4)
      values *= std::sqrt(24.0 / static_cast<double>(parameter.size(0) * parameter.size(2) * parameter.size(3)));
    else if (parameter.dim() == 2)
      values *= 2.0 / std::sqrt(static_cast<double>(parameter.size(1)));
    else if (parameters(network.model.layers[place.layer])[place.parameter].name.ends_with("bias"))
      values *= 0.2;
    else
      values = 1.0 + 0.5 * values;
    parameter.copy_(values);
  }
}

torch::Tensor pattern_images(std::vector<std::int64_t> shape) {
  const auto elements = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return 2.0 * pattern(1'000'003, elements).view(shape);
}

}  // namespace parabench::models
