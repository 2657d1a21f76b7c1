#include "analytic/closed_forms/transformer_step.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace parabench::analytic {
namespace {

constexpr double memory_bytes_per_s = 1.6e12;

double elements(const TransformerRun& run) { return run.micro_batch * run.model.sequence * run.model.hidden; }

double all_reduce(double bytes, double ranks, Link link) {
  return link.latency_s * std::log2(ranks) + 2 * (ranks - 1) / ranks * bytes / link.bytes_per_s;
}

double scores(const TransformerRun& run) {
  return run.model.heads * run.model.sequence * run.model.sequence * run.micro_batch / run.tensor;
}

/// Fourth-power mean of what overlaps: the longer one, and a little more where both are as long.
double overlapped(double a, double b) { return std::pow(std::pow(a, 4) + std::pow(b, 4), 0.25); }

/// FLOPs of an m x n x k product whose last wave of tiles is as long as a full one.
double wave_flops(double m, double n, double k, double processors) {
  const auto waves = [&](double high, double wide) {
    return std::ceil(std::ceil(m / high) * std::ceil(n / wide) / processors);
  };
  constexpr double longer = 256, shorter = 128;
  return std::min(waves(longer, shorter), waves(shorter, longer)) * processors * longer * shorter * 2 * k;
}

/// Of a linear map of a layer: its forward, once more for the backward, and the gradients of input and weights.
double linear_flops(double rows, double in, double out, double processors) {
  return 2 * wave_flops(rows, out, in, processors) + wave_flops(rows, in, out, processors) +
         wave_flops(out, in, rows, processors);
}

}  // namespace

double transformer_layer_in_waves(const TransformerRun& run, const WaveCosts& costs) {
  const double t = run.tensor, h = run.model.hidden, rows = run.micro_batch * run.model.sequence;
  double products = 0;
  // Queries, keys and values; the attention's output; the perceptron's two maps.
  for (const auto& [in, out] : {std::pair{h, 3 * h / t}, {h / t, h}, {h, 4 * h / t}, {4 * h / t, h}})
    products += linear_flops(rows, in, out, costs.processors);
  const double attention = 16 * rows * run.model.sequence * h / t;
  const double gpu =
      (products + attention) / costs.flops_per_s + 2 * costs.score_bytes * scores(run) / memory_bytes_per_s;
  const double sums =
      ring_all_reduce(static_cast<int>(t), 2 * elements(run), costs.tensor.latency_s, 1 / costs.tensor.bytes_per_s, 0);
  const bool fused = std::fmod(run.micro_batch * run.model.heads / t, 4) == 0;
  return overlapped(gpu + 6 * sums, costs.launch_s + (fused ? 0 : costs.unfused_s));
}

double transformer_layer(const TransformerRun& run, const LayerCosts& costs) {
  const double t = run.tensor;
  const double traffic = elements(run) * (costs.k1 / t + costs.k2) + costs.k3 * scores(run);
  const double gpu =
      4 * layer_forward_flops(run.model, run.micro_batch) / t / costs.flops_per_s + 2 * traffic / memory_bytes_per_s;
  return overlapped(gpu, costs.launch_s) + 6 * all_reduce(2 * elements(run), t, costs.tensor);
}

double transformer_step(const TransformerRun& run, double layer_s, const StepCosts& costs) {
  const double micro_batches = run.batch / (run.data * run.micro_batch);
  const double stage = run.model.layers / run.pipeline * layer_s;
  const double logits = run.micro_batch * run.model.sequence * run.model.vocabulary / run.tensor;
  const double head =
      6 * logits * run.model.hidden / costs.head_flops_per_s + costs.logit_bytes * logits / memory_bytes_per_s;
  const double hop = run.pipeline > 1 ? 2 * (costs.hop.latency_s + 2 * elements(run) / costs.hop.bytes_per_s) : 0;
  const double parameters =
      (layer_parameters(run.model) + run.model.vocabulary * run.model.hidden) / (run.tensor * run.pipeline);
  return (micro_batches - 1) * (stage + head + hop) + (run.pipeline - 1) * (stage + hop) + stage + head +
         all_reduce(2 * parameters, run.data, costs.data) + costs.update_s_per_parameter * parameters + costs.fixed_s;
}

}  // namespace parabench::analytic
