// What this build offers on this machine, and which GPU a rank takes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "parallelism/comm/communicator.h"

namespace parabench {

/// Adds to the reply of a probe "devices", "communicators", for what is not offered "obstacles" by name, and
/// "gpu": what the driver, cuDNN and NCCL say, and how making an NCCL communicator of one rank went.
void add_capabilities(nlohmann::json& reply);

/// The calling rank's seat on its host.
struct GpuSeat {
  int gpu = 0;  ///< among those that its process sees
  int local_rank = 0, local_ranks = 1;
  int sharers = 1;  ///< ranks that take the same GPU, itself among them
};
/// Collective. `sharing`: several ranks may take one GPU.
GpuSeat choose_gpu(Communicator& host, bool sharing);

}  // namespace parabench
