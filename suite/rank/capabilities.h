// What this build offers on this machine, who else is there, and which GPU a rank takes.
#pragma once

#include "parallelism/comm/communicator.h"
#include "suite/protocol/offer.h"

namespace parabench::rank {

/// What a probe answers. Makes an NCCL communicator of one rank where there is a GPU.
protocol::Offer offer_of_this_machine();

/// The ranks of the calling rank's host.
struct Neighbours {
  int local_rank = 0, local_ranks = 0;
};
/// Collective.
Neighbours neighbours(comm::Communicator& host);

/// The calling rank's seat on its host.
struct GpuSeat {
  int gpu = 0;  ///< among those that its process sees
  int local_rank = 0, local_ranks = 1;
  int sharers = 1;  ///< ranks that take the same GPU, itself among them
};
/// Collective. `sharing`: several ranks may take one GPU.
GpuSeat choose_gpu(comm::Communicator& host, bool sharing);

}  // namespace parabench::rank
