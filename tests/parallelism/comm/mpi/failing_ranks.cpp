// A launch that goes wrong on purpose, for mpi_failures_test:
// `failing_ranks killed|killed-in-group|thrown|all-killed|alone`.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "parallelism/comm/mpi/world.h"

namespace parabench::comm {
namespace {

/// Rank 1 ends in the middle of a barrier or of its group's reduction, the others tell why they stopped.
void run(std::string_view how, const MpiSession& session) {
  const bool in_group = how == "killed-in-group";
  const auto comm = in_group ? make_mpi_communicator(session, 1 << 20, {{Rank(0), Rank(1)}, {Rank(2)}})
                             : make_mpi_communicator(session, 1 << 20);
  const std::vector<std::string> pids = all_gather(*comm, std::to_string(getpid()));
  if (session.rank() == Rank(1)) {
    if (how == "killed" || in_group) kill(getpid(), SIGKILL);
    if (how == "thrown") throw std::runtime_error("the program's own error");
    if (how == "all-killed") {
      kill(getppid(), SIGKILL);  // mpirun first: it would tidy up
      for (const std::string& pid : pids) kill(std::stoi(pid), SIGKILL);
    }
  }
  try {
    float value = 1;
    if (in_group && session.rank() == Rank(0))
      comm->wait(comm->all_reduce({&value, 4, ElementType::f32}, CommGroupId(1)));
    if (in_group) comm->wait(comm->recv({&value, 4}, Rank(0), {Channel::forward, 1}));
    comm->wait(comm->barrier());
    std::printf("rank %d: nobody failed\n", session.rank().value);
  } catch (const PeerFailure& failure) {
    std::printf("rank %d: %s\n", session.rank().value, failure.what());
  }
  std::fflush(stdout);
  // MPI_Finalize would wait for the dead rank.
  if (how == "killed" || in_group) _exit(0);
}

}  // namespace
}  // namespace parabench::comm

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  try {
    parabench::comm::MpiSession session(&argc, &argv);
    parabench::comm::run(how, session);
  } catch (const parabench::Error& error) {
    std::printf("%s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  return 0;
}
