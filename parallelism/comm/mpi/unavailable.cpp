// What a build without MPI says.
#include <cstdlib>

#include "base/error.h"
#include "parallelism/comm/mpi/world.h"

namespace parabench::comm {
namespace {

Error no_mpi() {
  return environment_error("comm:mpi", "a build without MPI", "one with MPI",
                           "install libopenmpi-dev and openmpi-bin and build anew, or take comm:threads");
}

}  // namespace

bool mpi_available() { return false; }

MpiSession::MpiSession(int*, char***) : exceptions_(0) { throw no_mpi(); }

MpiSession::~MpiSession() = default;

void MpiSession::abort(int code) const noexcept { std::_Exit(code); }

std::string mpi_settings() { return ""; }

std::string MpiSession::library_version() { return "none"; }

std::unique_ptr<Communicator> make_mpi_communicator(const MpiSession&, std::int64_t, std::vector<std::vector<Rank>>,
                                                    bool, ReduceKind) {
  throw no_mpi();
}

}  // namespace parabench::comm
