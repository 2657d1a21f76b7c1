// What a communicator leaves to another one, as one of GPUs to the host's.
#pragma once

#include <memory>

#include "parallelism/comm/communicator.h"

namespace parabench::comm {

/// The host's work as one's own.
std::unique_ptr<WorkState> forward_to_host(Work work);

/// A collective by the host; what the host moves for it is added to `traffic` as well.
std::unique_ptr<WorkState> collective_on_host(Communicator& host, const CollectiveCall& call, Traffic& traffic);

}  // namespace parabench::comm
