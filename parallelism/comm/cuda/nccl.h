// Ranks on GPUs over NCCL.
#pragma once

#include <memory>

#include "parallelism/comm/communicator.h"

namespace parabench {

struct NcclOptions {
  double time_limit_s = 60;  ///< of one operation; then every rank is made to stop
};

/// One NCCL communicator for collectives and one per direction of messages (a single one for both directions can dead-lock, see
/// nccl#584), all made together. `host` carries unique ids, host buffers, barriers and failures: a rank that fails, or an
/// asynchronous NCCL error, aborts the group there, and every waiting call throws PeerFailure. allocate() hands out ncclMemAlloc
/// memory, registered with the collectives' communicator. Traffic counts nccl-tests' bus bytes: 2 (p-1)/p S for an all-reduce. Throws
/// environment_error for a build without NCCL, and when two ranks share a GPU (NCCL refuses), naming comm:mpi and comm:threads.
/// `host` must outlive it.
std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, int gpu, NcclOptions options = {});

}  // namespace parabench
