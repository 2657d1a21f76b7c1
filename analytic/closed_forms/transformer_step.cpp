#include "analytic/closed_forms/transformer_step.h"

#include <cmath>

namespace parabench::analytic {
namespace {

constexpr double memory_bytes_per_s = 1.6e12;

double elements(const TransformerRun& run) { return run.micro_batch * run.model.sequence * run.model.hidden; }

double all_reduce(double bytes, double ranks, Link link) {
  return link.latency_s * std::log2(ranks) + 2 * (ranks - 1) / ranks * bytes / link.bytes_per_s;
}

}  // namespace

double transformer_layer(const TransformerRun& run, const LayerCosts& costs) {
  const double t = run.tensor;
  const double scores = run.model.heads * run.model.sequence * run.model.sequence * run.micro_batch;
  const double traffic = elements(run) * (costs.k1 / t + costs.k2) + costs.k3 * scores / t;
  const double gpu =
      4 * layer_forward_flops(run.model, run.micro_batch) / t / costs.flops_per_s + 2 * traffic / memory_bytes_per_s;
  return std::pow(std::pow(gpu, 4) + std::pow(costs.launch_s, 4), 0.25) +
         6 * all_reduce(2 * elements(run), t, costs.tensor);
}

double transformer_step(const TransformerRun& run, double layer_s, const StepCosts& costs) {
  const double micro_batches = run.batch / (run.data * run.micro_batch);
  const double stage = run.model.layers / run.pipeline * layer_s;
  const double head = 6 * elements(run) * run.model.vocabulary / (run.tensor * costs.head_flops_per_s);
  const double hop = run.pipeline > 1 ? 2 * (costs.hop.latency_s + 2 * elements(run) / costs.hop.bytes_per_s) : 0;
  const double parameters =
      (layer_parameters(run.model) + run.model.vocabulary * run.model.hidden) / (run.tensor * run.pipeline);
  return (micro_batches - 1) * (stage + head + hop) + (run.pipeline - 1) * (stage + hop) + stage + head +
         all_reduce(2 * parameters, run.data, costs.data) + costs.update_s_per_parameter * parameters + costs.fixed_s;
}

}  // namespace parabench::analytic
