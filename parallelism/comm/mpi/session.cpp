#include "parallelism/comm/mpi/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "base/error.h"
#include "parallelism/comm/mpi/check.h"
#include "parallelism/comm/mpi/own_segments.h"
#include "parallelism/comm/mpi/world_size.h"

namespace parabench::comm {

bool mpi_available() { return true; }

MpiSession::MpiSession(int* argc, char*** argv) : exceptions_(std::uncaught_exceptions()) {
  check_introduced();
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_.value), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  try {
    check_world_size(size_);
    if (provided < MPI_THREAD_SERIALIZED) {
      throw environment_error("MPI", fmt::format("thread level {}", provided), "MPI_THREAD_SERIALIZED",
                              "an MPI library built with thread support");
    }
    own_segment_ = unlink_own_segment();
  } catch (...) {
    MPI_Finalize();  // every rank of this launch has the same reason to stop
    throw;
  }
}

MpiSession::~MpiSession() {
  if (std::uncaught_exceptions() > exceptions_) abort(1);
  MPI_Barrier(MPI_COMM_WORLD);  // so that the restored name lives for milliseconds
  restore_own_segment(own_segment_);
  MPI_Finalize();
}

void MpiSession::abort(int code) const noexcept {
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

std::string MpiSession::library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  std::string version(text, ::strnlen(text, length));
  std::replace(version.begin(), version.end(), '\n', ' ');
  return version.substr(0, version.find_last_not_of(' ') + 1);
}

}  // namespace parabench::comm
