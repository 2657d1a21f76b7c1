#include "parallelism/comm/algorithms/ring.h"

namespace parabench::comm {
namespace {

/// In each round the part of the member `sent` places behind goes on, and that of the one before it arrives.
void go_around(Transfers& transfers, const Ring& ring, int first_round, int sent, Transfer::Kind receipt) {
  const int members = static_cast<int>(ring.members.size());
  const auto behind = [&](int places) { return (ring.place + 2 * members - places) % members; };
  for (int round = 0; round < members - 1; ++round) {
    const int next = ring.members[behind(members - 1)], previous = ring.members[behind(1)];
    for (const Share part : ring.parts[behind(round + sent)])
      transfers.push_back({Transfer::Kind::send, first_round + round, next, 0, part});
    for (const Share part : ring.parts[behind(round + sent + 1)])
      transfers.push_back({receipt, first_round + round, previous, 0, part});
  }
}

}  // namespace

void add_ring_reduce_scatter(Transfers& transfers, const Ring& ring, int first_round) {
  go_around(transfers, ring, first_round, 1, Transfer::Kind::add);
}

void add_ring_all_gather(Transfers& transfers, const Ring& ring, int first_round) {
  go_around(transfers, ring, first_round, 0, Transfer::Kind::store);
}

}  // namespace parabench::comm
