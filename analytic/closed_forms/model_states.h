// Bytes of parameters, gradients and optimizer states, which data-parallel ranks hold in whole or in shares.
#pragma once

#include <array>
#include <string_view>

namespace parabench::analytic {

/// Bytes per parameter.
struct StateBytes {
  double parameters = 0, gradients = 0, optimizer = 0;
};

/// What is trained with which states: in 16 bits with Adam's two states and weights in 32 bits (Rajbhandari et al.,
/// SC'20, arXiv 1910.02054), 2 + 2 + 12 bytes; the same with gradients that are summed in 32 bits, as Megatron-LM keeps
/// them, 2 + 4 + 12; all in 32 bits, with Adam, SGD with momentum or plain SGD, 4 + 4 + 8, 4 or 0.
enum class Training { mixed_adam, megatron_adam, fp32_adam, fp32_momentum, fp32_sgd };
constexpr std::array<std::string_view, 5> names_of(Training) {
  return {"mixed-adam", "megatron-adam", "fp32-adam", "fp32-momentum", "fp32-sgd"};
}
StateBytes state_bytes(Training training);

/// What `ranks` ranks divide among them: nothing; states of the optimizer; gradients, too; parameters, too.
enum class Sharded { nothing, optimizer, gradients, parameters };
constexpr std::array<std::string_view, 4> names_of(Sharded) {
  return {"nothing", "optimizer", "gradients", "parameters"};
}

/// Bytes that each of the ranks holds of `parameters` weights, without what ZeRO's third stage gathers for the layers
/// that run.
double model_state_bytes(double parameters, Training training, Sharded sharded, double ranks);

}  // namespace parabench::analytic
