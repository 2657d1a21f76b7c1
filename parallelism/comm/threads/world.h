// Ranks as threads of one process.
#pragma once

#include <functional>

#include "parallelism/comm/communicator.h"

namespace parabench::comm {

/// Runs `body` on a thread for each rank (a rank alone on the caller's, which keeps what libraries keep by thread),
/// with its own end of a common communicator. `groups`: the number of ranks, or that and what groups they form. When
/// one throws, the others are made to stop and the first error is rethrown here. Returns when all have ended.
void run_thread_ranks(const RankGroups& groups, const std::function<void(Communicator&)>& body);

}  // namespace parabench::comm
