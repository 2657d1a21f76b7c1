// What ranks agree on over the host before they make NCCL communicators. Everything here is collective.
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

#include "parallelism/comm/communicator.h"

namespace parabench::comm {

/// Throws environment_error naming two ranks with the same GPU. NCCL would refuse, too, but only after a while and in
/// fewer words.
void require_own_gpu(Communicator& host, int gpu);

/// "rank 0 to 1 on forward"
std::string to_text(const MessageLane& lane);

/// Each lane once, in the order in which all ranks make them. Throws std::invalid_argument for a lane that is not
/// between two ranks of the world, usage_error unless all ranks name the same.
std::vector<MessageLane> agree_on_lanes(Communicator& host, std::vector<MessageLane> lanes);

/// A new id for each list of members, from the first of them. The same lists on all ranks.
std::vector<ncclUniqueId> make_ids(Communicator& host, const std::vector<std::vector<Rank>>& lists);

}  // namespace parabench::comm
