#include "parallelism/exec/optimizer/formulas.h"

#include <torch/utils.h>

#include <cmath>

namespace parabench::exec {
namespace {

double norm_of(const torch::Tensor& x) { return std::sqrt((x * x).sum().item<double>()); }

torch::Tensor with_momentum(const OptimizerRule& rule, const torch::Tensor& weights, const torch::Tensor& h,
                            OptimizerHistory& history) {
  history.first = rule.momentum * history.first + h;
  return weights - rule.lr * (rule.nesterov ? h + rule.momentum * history.first : history.first);
}

torch::Tensor with_moments(const OptimizerRule& rule, const torch::Tensor& weights, const torch::Tensor& h,
                           OptimizerHistory& history) {
  history.first = rule.beta1 * history.first + (1 - rule.beta1) * h;
  history.second = rule.beta2 * history.second + (1 - rule.beta2) * h * h;
  const torch::Tensor mean = history.first / (1 - std::pow(rule.beta1, history.updates));
  const torch::Tensor square = history.second / (1 - std::pow(rule.beta2, history.updates));
  return weights - rule.lr * mean / (square.sqrt() + rule.eps);
}

/// The gradient that lars hands to SGD.
torch::Tensor adapted(const OptimizerRule& rule, const torch::Tensor& weights, const torch::Tensor& gradient) {
  const double w = norm_of(weights), g = norm_of(gradient);
  if (w == 0 || g == 0) return gradient;
  return rule.trust * w / (g + rule.weight_decay * w + rule.eps) * (gradient + rule.weight_decay * weights);
}

}  // namespace

torch::Tensor next_weights(const OptimizerRule& rule, const torch::Tensor& weights, const torch::Tensor& gradient,
                           OptimizerHistory& history) {
  torch::NoGradGuard no_grad;
  if (history.updates++ == 0) history.first = history.second = torch::zeros_like(weights);
  switch (rule.kind) {
    case OptimizerKind::sgd: return with_momentum(rule, weights, gradient + rule.weight_decay * weights, history);
    case OptimizerKind::adam: return with_moments(rule, weights, gradient + rule.weight_decay * weights, history);
    case OptimizerKind::adamw:
      return with_moments(rule, weights, gradient, history) - rule.lr * rule.weight_decay * weights;
    case OptimizerKind::lars: return with_momentum(rule, weights, adapted(rule, weights, gradient), history);
  }
  return {};
}

}  // namespace parabench::exec
