// The optimizer: stochastic gradient descent with momentum.
#pragma once

#include <torch/types.h>

#include <vector>

namespace parabench {

struct SgdRule {
  double lr = 0.01, momentum = 0.9, weight_decay = 0.0;
};

/// The tensors of one parameter: one type, shape and order of elements in memory, without gaps. `velocity` may be
/// undefined when momentum is 0; `weights` and `next` may be the same.
struct SgdOperands {
  torch::Tensor weights, next, velocity, gradient;
};

/// torch.optim.SGD's rule (dampening 0, no Nesterov):
///   v = momentum v + g + weight_decay w;  w_next = w - lr v
/// in one pass over each parameter of the processor's memory, split over the caller's intra-op threads.
void sgd_update(const SgdRule& rule, const std::vector<SgdOperands>& parameters);
/// The same by torch's fused operator over all parameters at once, wherever they lie.
void fused_sgd_update(const SgdRule& rule, const std::vector<SgdOperands>& parameters);

}  // namespace parabench
