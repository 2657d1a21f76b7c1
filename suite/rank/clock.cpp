#include "suite/rank/clock.h"

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "suite/rank/hosts.h"

namespace parabench::rank {
namespace {

constexpr int rounds = 32;
constexpr comm::Message ping{comm::Channel::control, 0xc10c};

comm::BufferView view(double& value) { return {&value, sizeof value, comm::ElementType::byte}; }

/// Rank 0's half of one round: tells the time when asked.
void answer(comm::Communicator& comm, Rank peer, const std::function<double()>& clock) {
  double time = 0;
  comm.wait(comm.recv(view(time), peer, ping));
  time = clock();
  comm.wait(comm.send(view(time), peer, ping));
}

double ask(comm::Communicator& comm, const std::function<double()>& clock) {
  double narrowest = std::numeric_limits<double>::infinity(), offset = 0;
  for (int i = 0; i < rounds; ++i) {
    double before = clock(), theirs = 0;
    comm.wait(comm.send(view(before), Rank(0), ping));
    comm.wait(comm.recv(view(theirs), Rank(0), ping));
    const double after = clock();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    offset = theirs - (before + after) / 2;
  }
  return offset;
}

}  // namespace

double clock_offset_s(comm::Communicator& comm) {
  return host_count(find_placement(comm)) == 1 ? 0 : estimated_offset_s(comm, now_s);
}

double estimated_offset_s(comm::Communicator& comm, const std::function<double()>& clock) {
  if (comm.rank() != Rank(0)) return ask(comm, clock);
  for (Rank peer(1); peer.value < comm.size(); ++peer)
    for (int i = 0; i < rounds; ++i) answer(comm, peer, clock);
  return 0;
}

}  // namespace parabench::rank
