#include "parallelism/exec/optimizer/fused_loops.h"

#include <ATen/Parallel.h>
#include <torch/utils.h>

#include <cmath>

namespace parabench::exec {
namespace {

// Elements per task: a few hundred kilobytes, enough to pay for waking a thread.
constexpr std::int64_t grain = 32768;

template <class T>
struct Pointers {
  const T* weights;
  T* next;
  T *first, *second;  ///< null: not kept
  const T* gradient;
  std::int64_t elements;
};

template <class T>
Pointers<T> pointers(const UpdateOperands& p) {
  const auto state = [&p](int i) { return p.states[i].defined() ? p.states[i].data_ptr<T>() : nullptr; };
  return {p.weights.const_data_ptr<T>(),  p.next.data_ptr<T>(), state(0), state(1),
          p.gradient.const_data_ptr<T>(), p.gradient.numel()};
}

template <class Element>
void for_each_element(std::int64_t n, const Element& element) {
  at::parallel_for(0, n, grain, [&](std::int64_t begin, std::int64_t end) {
    const Element own = element;  // so that the compiler sees that no store changes what it captured
#pragma GCC ivdep
    for (std::int64_t i = begin; i < end; ++i) own(i);
  });
}

template <class T>
void sgd(const OptimizerRule& rule, const Pointers<T>& p) {
  const T lr = static_cast<T>(rule.lr), momentum = static_cast<T>(rule.momentum);
  const T decay = static_cast<T>(rule.weight_decay);
  T* const velocity = p.first;
  if (!velocity) {
    for_each_element(p.elements, [=](std::int64_t i) {
      const T w = p.weights[i];
      p.next[i] = w - lr * (p.gradient[i] + decay * w);
    });
  } else if (rule.nesterov) {
    for_each_element(p.elements, [=](std::int64_t i) {
      const T w = p.weights[i];
      const T g = p.gradient[i] + decay * w;
      const T v = momentum * velocity[i] + g;
      velocity[i] = v;
      p.next[i] = w - lr * (g + momentum * v);
    });
  } else {
    for_each_element(p.elements, [=](std::int64_t i) {
      const T w = p.weights[i];
      const T v = momentum * velocity[i] + p.gradient[i] + decay * w;
      velocity[i] = v;
      p.next[i] = w - lr * v;
    });
  }
}

template <class T>
void adam(const OptimizerRule& rule, const Pointers<T>& p, double update) {
  const bool decoupled = rule.kind == OptimizerKind::adamw;
  const T kept = static_cast<T>(decoupled ? 1 - rule.lr * rule.weight_decay : 1);
  const T decay = static_cast<T>(decoupled ? 0 : rule.weight_decay);
  const T beta1 = static_cast<T>(rule.beta1), new1 = static_cast<T>(1 - rule.beta1);
  const T beta2 = static_cast<T>(rule.beta2), new2 = static_cast<T>(1 - rule.beta2);
  const T rate = static_cast<T>(rule.lr / (1 - std::pow(rule.beta1, update)));
  const T second_bias = static_cast<T>(std::sqrt(1 - std::pow(rule.beta2, update)));
  const T eps = static_cast<T>(rule.eps);
  for_each_element(p.elements, [=](std::int64_t i) {
    const T w = p.weights[i];
    const T g = p.gradient[i] + decay * w;
    const T m = beta1 * p.first[i] + new1 * g;
    const T s = beta2 * p.second[i] + new2 * g * g;
    p.first[i] = m;
    p.second[i] = s;
    p.next[i] = kept * w - rate * m / (std::sqrt(s) / second_bias + eps);
  });
}

template <class T>
void lars(const OptimizerRule& rule, const Pointers<T>& p, double weight_norm, double gradient_norm) {
  const bool adapts = weight_norm > 0 && gradient_norm > 0;
  const double ratio =
      adapts ? rule.trust * weight_norm / (gradient_norm + rule.weight_decay * weight_norm + rule.eps) : 1;
  const T lr = static_cast<T>(rule.lr), momentum = static_cast<T>(rule.momentum), scale = static_cast<T>(ratio);
  const T decay = static_cast<T>(adapts ? rule.weight_decay : 0);
  T* const velocity = p.first;
  if (!velocity) {
    for_each_element(p.elements, [=](std::int64_t i) {
      const T w = p.weights[i];
      p.next[i] = w - lr * scale * (p.gradient[i] + decay * w);
    });
  } else {
    for_each_element(p.elements, [=](std::int64_t i) {
      const T w = p.weights[i];
      const T v = momentum * velocity[i] + scale * (p.gradient[i] + decay * w);
      velocity[i] = v;
      p.next[i] = w - lr * v;
    });
  }
}

template <class T>
void update(const OptimizerRule& rule, const UpdateOperands& p) {
  switch (rule.kind) {
    case OptimizerKind::sgd: return sgd(rule, pointers<T>(p));
    case OptimizerKind::adam:
    case OptimizerKind::adamw: return adam(rule, pointers<T>(p), *p.update.const_data_ptr<float>());
    case OptimizerKind::lars: {
      if (!p.squares.defined())
        return lars(rule, pointers<T>(p), p.weights.norm().item<double>(), p.gradient.norm().item<double>());
      const double* const squares = p.squares.const_data_ptr<double>();
      return lars(rule, pointers<T>(p), std::sqrt(squares[0]), std::sqrt(squares[1]));
    }
  }
}

}  // namespace

void update_by_loops(const OptimizerRule& rule, const std::vector<UpdateOperands>& parameters) {
  torch::NoGradGuard no_grad;
  for (const UpdateOperands& p : parameters) {
    if (p.next.scalar_type() == torch::kFloat64)
      update<double>(rule, p);
    else
      update<float>(rule, p);
  }
}

}  // namespace parabench::exec
