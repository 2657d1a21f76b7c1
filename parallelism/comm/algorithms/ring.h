// Reductions around a ring (Patarasuk and Yuan 2009): every member talks to its two neighbours alone, and sends the
// least that there is.
#pragma once

#include <span>
#include <vector>

#include "parallelism/comm/algorithms/transfers.h"

namespace parabench::comm {

/// Members of a group that stand in a circle, and which bytes each of them is to own: pieces of the buffer, in any
/// order.
struct Ring {
  std::vector<int> members;               ///< positions in the group
  std::vector<std::vector<Share>> parts;  ///< by place in `members`
  int place = 0;                          ///< of the member whose transfers are wanted
};

/// Adds the transfers of a reduce_scatter, in the rounds from `first_round` on: every part goes once around, ending
/// with its owner. Takes members - 1 rounds.
void add_ring_reduce_scatter(Transfers& transfers, const Ring& ring, int first_round);

/// Likewise of an all_gather: every part goes once around, beginning with its owner.
void add_ring_all_gather(Transfers& transfers, const Ring& ring, int first_round);

}  // namespace parabench::comm
