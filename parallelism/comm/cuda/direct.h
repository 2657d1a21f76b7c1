// Ranks on GPUs that are threads of one process: they hand device pointers over.
#pragma once

#include <memory>

#include "parallelism/comm/communicator.h"

namespace parabench::comm {

/// A message is one copy from GPU to GPU, or within one, on a stream of the receiver, after the events of both buffers.
/// A collective reads and writes the members' buffers where they are, in allocate()d memory or elsewhere: each member's
/// GPU sums its share over all buffers in the members' order and stores the sum to all of them (all_reduce) or to its
/// own (reduce_scatter), copies its share to the others (all_gather), or copies the root's buffer (broadcast). Any
/// number of ranks may share a GPU; different GPUs use peer access where the driver offers it, else copies that the
/// driver stages.
///
/// Nothing goes through the host but pointers: an operation is queued when the hosts of all ranks that take part have
/// given it out, whatever their GPUs still do before. Each incoming and outgoing lane of messages and each group has a
/// stream of its own, made when it is first used, so that none waits for another.
///
/// `host`, of ranks that are threads of one process, carries host buffers, barriers, wake-ups and failures, and must
/// outlive it. Members that start different collectives get std::logic_error as communicator.h says; a barrier, which
/// is the host's, is not compared. Traffic is that of shared memory (communicator.h). Collective over `host`. Throws
/// std::invalid_argument for ranks of several processes, usage_error for a group of more than most_summed members
/// (sum_buffers.h), environment_error for a build without CUDA.
std::unique_ptr<Communicator> make_direct_communicator(Communicator& host, int gpu);

}  // namespace parabench::comm
