// A launch that goes wrong on purpose, for mpi_failures_test: `failing_ranks killed|thrown|alone`.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string_view>

#include "base/error.h"
#include "parallelism/comm/mpi/world.h"

namespace parabench {
namespace {

/// Rank 1 ends in the middle of a barrier, the others tell why they stopped.
void run(std::string_view how, const MpiSession& session) {
  const auto comm = make_mpi_communicator(session, 1 << 20);
  comm->wait(comm->barrier());
  if (session.rank() == Rank(1)) {
    if (how == "killed") kill(getpid(), SIGKILL);
    if (how == "thrown") throw std::runtime_error("the program's own error");
  }
  try {
    comm->wait(comm->barrier());
    std::printf("rank %d: nobody failed\n", session.rank().value);
  } catch (const PeerFailure& failure) {
    std::printf("rank %d: %s\n", session.rank().value, failure.what());
  }
  std::fflush(stdout);
  // MPI_Finalize would wait for the dead rank.
  if (how == "killed") _exit(0);
}

}  // namespace
}  // namespace parabench

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  try {
    parabench::MpiSession session(&argc, &argv);
    parabench::run(how, session);
  } catch (const parabench::Error& error) {
    std::printf("%s\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
