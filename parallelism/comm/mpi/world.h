// Ranks as processes under MPI.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "parallelism/comm/communicator.h"

namespace parabench::comm {

/// Whether this build has MPI; without it the calls below throw environment_error.
bool mpi_available();

/// Owns MPI_Init_thread (serialized) and MPI_Finalize. Throws environment_error when the launcher promised more
/// ranks than MPI sees (the silent singleton), naming `srun --mpi=pmix` and `mpirun`.
///
/// MPI_Finalize waits for all ranks, so it must not be reached by a rank that failed: catch inside the
/// session's scope, report, and call abort(). A session that an exception unwinds does so by itself.
class MpiSession {
 public:
  MpiSession(int* argc, char*** argv);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  Rank rank() const { return rank_; }
  int size() const { return size_; }
  /// Ends every rank of the launch, this one with exit code `code`.
  [[noreturn]] void abort(int code) const noexcept;
  /// "Open MPI v4.1.4, ..." in one line.
  static std::string library_version();

 private:
  Rank rank_;
  int size_ = 1;
  std::string own_segment_;  // of the MPI library in shared memory, its name taken away
  int exceptions_;           // in flight when it was made
};

/// The communicator over all ranks of the session; collective. When all ranks share a node and its shared memory has
/// room for their arenas and mailboxes together, both live there, unlinked from the name space as soon as all ranks
/// have mapped them; otherwise private buffers and MPI calls, with the reason in capabilities().note.
/// `arena_bytes_per_rank` is the sum of the later allocate() calls, each rounded up to 64 bytes. `groups`: what
/// RankGroups takes; a usage_error unless they are the same on all ranks. `allow_shared` false or the environment
/// variable PARABENCH_SHARED_MEMORY=off force the private path (any other value but `on` is a usage_error). Destroy
/// it before the session.
std::unique_ptr<Communicator> make_mpi_communicator(const MpiSession& session, std::int64_t arena_bytes_per_rank,
                                                    std::vector<std::vector<Rank>> groups = {},
                                                    bool allow_shared = true);

}  // namespace parabench::comm
