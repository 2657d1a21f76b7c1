// Ranks on GPUs over NCCL.
#pragma once

#include <memory>

#include "parallelism/comm/communicator.h"

namespace parabench {

struct NcclOptions {
  double time_limit_s = 60;  ///< of one operation; then every rank is made to stop
};

/// One NCCL communicator for the collectives of each group and one per channel of messages, all made together:
/// forward and backward messages on a single one can dead-lock (nccl#584). Messages of one channel run on each rank
/// in the order started, as do the collectives of a group, so ranks must start them in one common order, as plans do;
/// those started together, before any of them is waited for, may cross. Groups do not wait for each other as long as
/// the GPU has room for the kernels of all that are in flight. `host` carries unique ids, tags, host buffers,
/// barriers and failures: a rank that fails, or an asynchronous NCCL error, aborts the world there, and every waiting
/// call throws PeerFailure. allocate() hands out ncclMemAlloc memory, registered with the communicators of all
/// groups. Traffic counts nccl-tests' bus bytes: 2(p-1)/p S each way for an all-reduce. Collective over `host`, which
/// must outlive it. Throws environment_error for a build without NCCL, and when two ranks share a GPU (NCCL refuses),
/// naming comm:mpi and comm:threads.
std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, int gpu, NcclOptions options = {});

}  // namespace parabench
