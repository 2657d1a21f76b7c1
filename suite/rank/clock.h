// One clock for the spans of ranks on several hosts.
#pragma once

#include "parallelism/comm/communicator.h"

namespace parabench {

/// Seconds to add to now_s() of this rank to get rank 0's. Collective. Estimated by ping-pong, the round trip
/// that took least counting (Cristian 1989): off by half of that trip at most. Exact 0 between ranks of one
/// host, who share their clock, unless `estimate_always`.
double clock_offset_s(Communicator& comm, bool estimate_always = false);

}  // namespace parabench
