// With S1, S2 the sums of a channel's values and of their squares, n its values over all that were added up:
//   m = S1 / n, v = S2 / n - m^2, y = (x - m) / sqrt(v + eps) w + b
// and, for gradients dw, db of the affine part, which ATen's kernel gives for m and v that it takes as constants,
//   dL/dm = -w db / sqrt(v + eps), dL/dv = -w dw / (2 (v + eps))
//   dL/dS1 = (dL/dm - 2 m dL/dv) / n, dL/dS2 = dL/dv / n, dL/dx = dL/dS1 + 2 x dL/dS2 beside that of y.
// All but x, y and their gradients is in fp64: S2 / n and m^2 may differ by little.
#include "models/torch/operations/synchronised_norm.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <span>
#include <tuple>
#include <utility>

#include "models/spec/operations/batch_norm.h"
#include "models/torch/split_node.h"

namespace parabench::modules {
namespace {

using torch::autograd::AutogradContext;
using Tensors = torch::autograd::variable_list;

constexpr double eps = models::BatchNorm::eps, momentum = models::BatchNorm::momentum;

struct Sums {
  torch::Tensor first, second, count;
};
Sums parts_of(const torch::Tensor& statistics, std::int64_t channels) {
  return {statistics.narrow(0, 0, channels), statistics.narrow(0, channels, channels),
          statistics.narrow(0, 2 * channels, 1)};
}

/// A value of each channel for each element of a map.
torch::Tensor over_map(const torch::Tensor& of_channels, torch::ScalarType type) {
  return of_channels.to(type).view({1, -1, 1, 1});
}

/// Of running statistics nothing is updated; those of a bf16 map come in fp32 where ATen sees fp32 ones.
std::tuple<torch::Tensor, torch::Tensor> mean_and_variance(const torch::Tensor& x) {
  torch::Tensor wide;
  if (x.scalar_type() == torch::kBFloat16) wide = torch::zeros({x.size(1)}, x.options().dtype(torch::kFloat32));
  return at::batch_norm_update_stats(x, wide, wide, /*momentum=*/0);
}

class Statistics : public torch::autograd::Function<Statistics> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x) {
    context->save_for_backward({x});
    const auto count = static_cast<double>(x.numel() / x.size(1));
    auto [mean, variance] = mean_and_variance(x);
    mean = mean.to(torch::kFloat64);
    return at::cat(
        {mean * count, (variance.to(torch::kFloat64) + mean * mean) * count, torch::full({1}, count, mean.options())});
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    const torch::Tensor x = context->get_saved_variables()[0];
    const Sums of = parts_of(gradients[0], x.size(1));
    return {at::addcmul(over_map(of.first, x.scalar_type()), x, over_map(of.second, x.scalar_type()), /*value=*/2)};
  }
};

class NormBy : public torch::autograd::Function<NormBy> {
 public:
  /// `running`: mean and variance, or nothing to update.
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const torch::Tensor& statistics,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               std::span<const torch::Tensor> running, WeightGradients* later) {
    const std::int64_t channels = x.size(1);
    const auto [first, second, count] = parts_of(statistics, channels);
    const torch::Tensor mean = first / count, variance = (second / count - mean * mean).clamp_min_(0);
    if (!running.empty()) {
      torch::Tensor average = running[0], average_variance = running[1];
      average.lerp_(mean.to(average.scalar_type()), momentum);
      average_variance.lerp_((variance * (count / (count - 1))).to(average.scalar_type()), momentum);
    }
    const torch::Tensor moments = at::cat({mean, variance, count}).to(weight.scalar_type());
    context->save_for_backward({x, weight, bias, moments});
    context->saved_data["later"] = reinterpret_cast<std::int64_t>(later);
    return std::get<0>(at::native_batch_norm(x, weight, bias, moments.narrow(0, 0, channels),
                                             moments.narrow(0, channels, channels), /*training=*/false, momentum, eps));
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    const Tensors saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight = saved[1], &bias = saved[2];
    const std::int64_t channels = x.size(1);
    const auto [own_mean, own_variance, own_count] = parts_of(saved[3], channels);
    auto [dx, dweight, dbias] = at::native_batch_norm_backward(gradients[0], x, weight, own_mean, own_variance, {}, {},
                                                               /*train=*/false, eps, {true, true, true});
    const torch::Tensor mean = own_mean.to(torch::kFloat64), variance = own_variance.to(torch::kFloat64) + eps,
                        count = own_count.to(torch::kFloat64), wide = weight.detach().to(torch::kFloat64);
    const torch::Tensor by_mean = -wide * dbias.to(torch::kFloat64) / variance.sqrt();
    const torch::Tensor by_variance = -wide * dweight.to(torch::kFloat64) / (2 * variance);
    const torch::Tensor by_sums =
        at::cat({(by_mean - 2 * mean * by_variance) / count, by_variance / count, torch::zeros_like(count)});
    auto* later = reinterpret_cast<WeightGradients*>(context->saved_data["later"].toInt());
    if (!later) return {dx, by_sums, dweight, dbias, {}, {}};
    later->defer(computed_gradient(weight, std::move(dweight)));
    later->defer(computed_gradient(bias, std::move(dbias)));
    return {dx, by_sums, {}, {}, {}, {}};
  }
};

}  // namespace

torch::Tensor compute(const models::BatchStatistics&, const Call& call) { return Statistics::apply(call.x()); }

torch::Tensor compute(const models::BatchNormBy&, const Call& call) {
  const std::span<const torch::Tensor> none, running = call.mode.update_statistics ? call.buffers : none;
  return NormBy::apply(call.x(), call.inputs[1], call.parameters[0], call.parameters[1], running, call.mode.deferred);
}

}  // namespace parabench::modules
