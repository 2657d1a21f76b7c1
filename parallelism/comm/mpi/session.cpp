#include "parallelism/comm/mpi/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "parallelism/comm/mpi/check.h"
#include "parallelism/comm/mpi/own_segments.h"
#include "parallelism/comm/mpi/world_size.h"

namespace parabench::comm {

namespace {

using Setting = std::pair<const char*, const char*>;

/// Sends in place of emulated writes to the peer's memory: with these, Open MPI 4.1 moves the two directions of an
/// exchange over TCP one after the other (MPI_Sendrecv of 44.7 MB at 1 Gbit/s: 734 ms in place of 368).
constexpr Setting tcp_settings[] = {{"OMPI_MCA_btl_tcp_flags", "1"}};

/// Ranks that are all on one host talk through its memory. Transports that open a port of every network for others to
/// connect to are left out: nothing listens that nobody needs.
constexpr Setting one_host_settings[] = {{"OMPI_MCA_btl", "^tcp,ofi,uct"}, {"OMPI_MCA_mtl", "^ofi"}};

/// As Open MPI's mpirun tells its ranks.
bool is_on_one_host() {
  const char *here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE"), *all = std::getenv("OMPI_COMM_WORLD_SIZE");
  return here && all && std::string_view(here) == all;
}

std::vector<Setting> settings() {
  std::vector<Setting> all(std::begin(tcp_settings), std::end(tcp_settings));
  if (is_on_one_host()) all.insert(all.end(), std::begin(one_host_settings), std::end(one_host_settings));
  return all;
}

}  // namespace

bool mpi_available() { return true; }

std::string mpi_settings() {
  std::string text;
  for (const auto& [name, value] : settings()) {
    const char* const current = std::getenv(name);
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, current ? current : value);
  }
  return text;
}

MpiSession::MpiSession(int* argc, char*** argv) : exceptions_(std::uncaught_exceptions()) {
  check_introduced();
  for (const auto& [name, value] : settings()) setenv(name, value, /*replace=*/0);
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
