// Which ranks share a host.
#pragma once

#include "base/placement.h"
#include "parallelism/comm/communicator.h"

namespace parabench::rank {

/// Of all ranks, by the names of their hosts. Collective.
Placement find_placement(comm::Communicator& comm);

}  // namespace parabench::rank
