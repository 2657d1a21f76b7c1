// Recursive halving and doubling (Rabenseifner 2004; Thakur, Rabenseifner and Gropp 2005): few rounds, with partners
// ever nearer, then ever farther, and of ever smaller, then ever larger parts.
#pragma once

#include "parallelism/comm/algorithms/transfers.h"

namespace parabench::comm {

/// As transfers_of. Where p is no power of two, 2^k < p, each of the first p - 2^k pairs of neighbours acts as one: its
/// second member hands all that it has to the first, and gets its result from it at the end, which is one round more
/// each.
Transfers halving_doubling(CollectiveKind kind, const Shares& shares, int position);

}  // namespace parabench::comm
