// The optimizer: stochastic gradient descent with momentum over flat buffers.
#pragma once

#include <cstdint>

namespace parabench {

struct SgdRule {
  double lr = 0.01, momentum = 0.9, weight_decay = 0.0;
};

/// One fused pass over n elements, torch.optim.SGD's rule (dampening 0, no Nesterov):
///   v = momentum v + g + weight_decay w;  w_next = w - lr v
/// `velocity` may be null when momentum is 0. `weights` and `next` may be the same buffer. Splits over the
/// intra-op threads of the caller.
void sgd_update(const SgdRule& rule, const float* weights, float* next, float* velocity, const float* gradient,
                std::int64_t n);
void sgd_update(const SgdRule& rule, const double* weights, double* next, double* velocity, const double* gradient,
                std::int64_t n);

}  // namespace parabench
