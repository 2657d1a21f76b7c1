// One clock for the spans of ranks on several hosts.
#pragma once

#include <functional>

#include "parallelism/comm/communicator.h"

namespace parabench::rank {

/// Seconds to add to now_s() of this rank to get rank 0's. Collective. 0 where all ranks share a host and so its clock.
double clock_offset_s(comm::Communicator& comm);

/// Seconds to add to this rank's `clock` to get rank 0's. Collective. By ping-pong, the round trip that took least
/// counting (Cristian 1989): off by half of that trip at most.
double estimated_offset_s(comm::Communicator& comm, const std::function<double()>& clock);

}  // namespace parabench::rank
