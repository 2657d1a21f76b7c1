// Collectives through the memory that ranks share.
#pragma once

#include <memory>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/fabric.h"
#include "parallelism/comm/rounds.h"

namespace parabench::comm {

/// Ends once every member has started the same: a barrier, or an agreement on `post`. Members that started
/// something else get std::logic_error.
std::unique_ptr<WorkState> start_meeting(CollectiveEnd& end, Post post);

/// When the buffers lie in the arenas of all members, each works on them where they are: it sums its share over all of
/// them and stores the result to all (all_reduce) or to its own (reduce_scatter), stores its share to the others'
/// (all_gather), or loads the root's (broadcast). Otherwise the same is done piece by piece in the group's scratch.
std::unique_ptr<WorkState> start_collective(CollectiveEnd& end, const CollectiveCall& call);

}  // namespace parabench::comm
