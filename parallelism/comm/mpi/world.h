// Ranks as processes under MPI.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/case.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/comm/mpi/session.h"

namespace parabench::comm {

/// The communicator over all ranks of the session; collective. When all ranks share a node and its shared memory has
/// room for their arenas and mailboxes together, both live there, unlinked from the name space as soon as all ranks
/// have mapped them; otherwise private buffers and MPI calls, with the reason in capabilities().note.
/// `arena_bytes_per_rank` is the sum of the later allocate() calls, each rounded up to 64 bytes. `groups`: what
/// RankGroups takes; a usage_error unless they are the same on all ranks. `allow_shared` false or the environment
/// variable PARABENCH_SHARED_MEMORY=off force the private path (any other value but `on` is a usage_error), and so does
/// a `reduce` that is done by messages or by the library. Of one host, hierarchical is the window: there is nothing
/// between hosts. environment_error where window is wanted and memory cannot be shared. Destroy it before the session.
std::unique_ptr<Communicator> make_mpi_communicator(const MpiSession& session, std::int64_t arena_bytes_per_rank,
                                                    std::vector<std::vector<Rank>> groups = {},
                                                    bool allow_shared = true,
                                                    ReduceKind reduce = ReduceKind::automatic);

}  // namespace parabench::comm
