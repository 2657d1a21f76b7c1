#include "suite/rank/clock.h"

#include <limits>

#include "parallelism/exec/device.h"
#include "suite/rank/reply.h"

namespace parabench {
namespace {

constexpr int rounds = 32;
constexpr std::uint64_t clock_tag = 0xc10c;

BufferView view(double& value) { return {&value, sizeof value, ElementType::byte}; }

/// Rank 0's half of one round: tells the time when asked.
void answer(Communicator& comm, Rank peer) {
  double asked = 0;
  comm.wait(comm.recv(view(asked), peer, {Channel::control, clock_tag}));
  double now = now_s();
  comm.wait(comm.send(view(now), peer, {Channel::control, clock_tag}));
}

double ask(Communicator& comm) {
  double narrowest = std::numeric_limits<double>::infinity(), offset = 0;
  for (int i = 0; i < rounds; ++i) {
    double before = now_s(), theirs = 0;
    comm.wait(comm.send(view(before), Rank(0), {Channel::control, clock_tag}));
    comm.wait(comm.recv(view(theirs), Rank(0), {Channel::control, clock_tag}));
    const double after = now_s();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    offset = theirs - (before + after) / 2;
  }
  return offset;
}

}  // namespace

double clock_offset_s(Communicator& comm, bool estimate_always) {
  const auto hosts = all_gather(comm, host_name());
  double offset = 0;
  for (Rank peer(1); peer.value < comm.size(); ++peer) {
    if (hosts[peer.value] == hosts[0] && !estimate_always) continue;
    if (comm.rank() == peer) offset = ask(comm);
    for (int i = 0; comm.rank() == Rank(0) && i < rounds; ++i) answer(comm, peer);
  }
  return offset;
}

}  // namespace parabench
