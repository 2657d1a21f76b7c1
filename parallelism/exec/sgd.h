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

/// One fused pass over each parameter, torch.optim.SGD's rule (dampening 0, no Nesterov):
///   v = momentum v + g + weight_decay w;  w_next = w - lr v
/// On the processor split over the caller's intra-op threads; elsewhere torch's fused operator over all of them at
/// once.
void sgd_update(const SgdRule& rule, const std::vector<SgdOperands>& parameters);

}  // namespace parabench
