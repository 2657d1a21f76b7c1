#include "analytic/closed_forms/model_states.h"

namespace parabench::analytic {

StateBytes state_bytes(Training training) {
  switch (training) {
    case Training::mixed_adam: return {2, 2, 12};
    case Training::megatron_adam: return {2, 4, 12};
    case Training::fp32_adam: return {4, 4, 8};
    case Training::fp32_momentum: return {4, 4, 4};
    case Training::fp32_sgd: return {4, 4, 0};
  }
  return {};
}

double model_state_bytes(double parameters, Training training, Sharded sharded, double ranks) {
  const StateBytes each = state_bytes(training);
  const auto held = [&](double bytes, Sharded since) { return sharded >= since ? bytes / ranks : bytes; };
  return parameters * (held(each.parameters, Sharded::parameters) + held(each.gradients, Sharded::gradients) +
                       held(each.optimizer, Sharded::optimizer));
}

}  // namespace parabench::analytic
