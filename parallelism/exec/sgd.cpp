#include "parallelism/exec/sgd.h"

#include <ATen/Parallel.h>
#include <torch/utils.h>

namespace parabench {
namespace {

// Elements per task: a few hundred kilobytes, enough to pay for waking a thread.
constexpr std::int64_t grain = 32768;

template <class T>
void update(const SgdRule& rule, const T* weights, T* next, T* velocity, const T* gradient, std::int64_t n) {
  const T lr = static_cast<T>(rule.lr), momentum = static_cast<T>(rule.momentum);
  const T decay = static_cast<T>(rule.weight_decay);
  at::parallel_for(0, n, grain, [&](std::int64_t begin, std::int64_t end) {
    if (velocity) {
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) {
        const T w = weights[i];
        const T v = momentum * velocity[i] + gradient[i] + decay * w;
        velocity[i] = v;
        next[i] = w - lr * v;
      }
    } else {
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) {
        const T w = weights[i];
        next[i] = w - lr * (gradient[i] + decay * w);
      }
    }
  });
}

template <class T>
void update(const SgdRule& rule, const SgdOperands& p) {
  update(rule, p.weights.const_data_ptr<T>(), p.next.data_ptr<T>(),
         p.velocity.defined() ? p.velocity.data_ptr<T>() : nullptr, p.gradient.const_data_ptr<T>(), p.gradient.numel());
}

}  // namespace

void sgd_update(const SgdRule& rule, const std::vector<SgdOperands>& parameters) {
  torch::NoGradGuard no_grad;
  for (const SgdOperands& p : parameters) {
    if (p.next.scalar_type() == torch::kFloat64)
      update<double>(rule, p);
    else
      update<float>(rule, p);
  }
}

void fused_sgd_update(const SgdRule& rule, const std::vector<SgdOperands>& parameters) {
  torch::NoGradGuard no_grad;
  if (parameters.empty()) return;
  std::vector<torch::Tensor> weights, next, velocities, gradients;
  for (const SgdOperands& p : parameters) {
    if (!p.next.is_same(p.weights)) weights.push_back(p.weights);
    next.push_back(p.next);
    if (p.velocity.defined()) velocities.push_back(p.velocity);
    gradients.push_back(p.gradient);
  }
  if (!weights.empty()) at::_foreach_copy_(next, weights);
  at::_fused_sgd_(next, gradients, velocities, rule.weight_decay, rule.momentum, rule.lr, /*dampening=*/0,
                  /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/false);
}

}  // namespace parabench
