// Ranks as processes under MPI.
#pragma once

#include <cstdint>
#include <memory>

#include "parallelism/comm/communicator.h"

namespace parabench {

/// Owns MPI_Init_thread and MPI_Finalize. Throws environment_error when the launcher promised more ranks than MPI sees (the
/// silent singleton: OMPI_COMM_WORLD_SIZE or SLURM_NTASKS > 1 but world size 1), naming `srun --mpi=pmix` and `mpirun`.
class MpiSession {
 public:
  MpiSession(int* argc, char*** argv);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  Rank rank() const;
  int size() const;
  /// "Open MPI v4.1.4, ..." in one line.
  static std::string library_version();
};

/// The communicator over all ranks of the session. When all ranks share a node and shared memory has room for
/// `window_bytes` (all ranks' arenas and mailboxes together), arenas and messages go through it, unlinked from the name space as
/// soon as all ranks have mapped it; otherwise private buffers and MPI calls, with the reason in capabilities().note.
/// `allow_shared` false forces the private path.
std::unique_ptr<Communicator> make_mpi_communicator(const MpiSession& session, std::int64_t arena_bytes_per_rank,
                                                    bool allow_shared = true);

}  // namespace parabench
