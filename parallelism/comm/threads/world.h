// Ranks as threads of one process.
#pragma once

#include <functional>

#include "parallelism/comm/communicator.h"

namespace parabench {

/// Runs `body` on `ranks` threads, each with its own end of a common group. When one throws, the others are
/// made to stop and the first error is rethrown here. Returns when all have ended.
void run_thread_ranks(int ranks, const std::function<void(Communicator&)>& body);

}  // namespace parabench
