// The life of MPI in a process.
#pragma once

#include <string>

#include "base/strong.h"

namespace parabench::comm {

/// Whether this build has MPI; without it a session throws environment_error.
bool mpi_available();

/// The environment that sessions give the MPI library, where the user has set nothing else: "NAME=VALUE ..." as it is.
std::string mpi_settings();

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

}  // namespace parabench::comm
