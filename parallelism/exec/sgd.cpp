#include "parallelism/exec/sgd.h"

#include <ATen/Parallel.h>

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

}  // namespace

void sgd_update(const SgdRule& rule, const float* weights, float* next, float* velocity, const float* gradient,
                std::int64_t n) {
  update(rule, weights, next, velocity, gradient, n);
}

void sgd_update(const SgdRule& rule, const double* weights, double* next, double* velocity, const double* gradient,
                std::int64_t n) {
  update(rule, weights, next, velocity, gradient, n);
}

}  // namespace parabench
