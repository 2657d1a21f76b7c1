// Ranks as threads of one process.
#pragma once

#include <functional>

#include "parallelism/comm/communicator.h"

namespace parabench {

/// Runs `body` on `ranks` threads, each with its own end of a common group. When one throws, the others are
/// made to stop and the first error is rethrown here. Returns when all have ended. `threads_per_rank`: how many
/// threads of a rank compute; where the cores suffice for all, waiting ranks stay awake for some microseconds.
void run_thread_ranks(int ranks, const std::function<void(Communicator&)>& body, int threads_per_rank = 1);

}  // namespace parabench
