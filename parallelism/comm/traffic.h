// What collectives count in Traffic, by the formulas there.
#pragma once

#include <cstdint>

#include "parallelism/comm/communicator.h"

namespace parabench::comm {

/// Of a member that moves `bytes` of its share among the buffers of `members`; of a broadcast, of the whole into its
/// own.
Traffic moved_in_memory(CollectiveKind kind, std::int64_t bytes, int members);

/// Of a collective that a library carries out, on `rank`.
Traffic moved_by_library(const CollectiveCall& call, int members, Rank rank);

inline void operator+=(Traffic& sum, const Traffic& more) {
  sum.sent += more.sent;
  sum.received += more.received;
}

}  // namespace parabench::comm
