// What this build offers on this machine, and which GPU a rank takes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "parallelism/comm/communicator.h"

namespace parabench {

/// Adds to the reply of a probe "devices", "communicators", for what is not offered "obstacles" by name, and
/// "gpu": what the driver, cuDNN and NCCL say, and how making an NCCL communicator of one rank went.
void add_capabilities(nlohmann::json& reply);

/// The GPU of the calling rank among those its process sees. Collective. `sharing`: several ranks may take one GPU.
int choose_gpu(Communicator& host, bool sharing);

}  // namespace parabench
