// From compute order to messages.
#pragma once

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// Adds the sends and receives that a compute-only plan needs: between the ranks of neighbouring segments, and of each
/// tensor that skips segments straight from the rank that makes it to those that take it (portals; Kim et al. 2020,
/// arXiv:2004.09910). "Sender places the receive"
/// (torch.distributed.pipelining): an action whose consumer lives elsewhere places its send here and the receive there
/// in the same step, so that both ends of a lane list the same messages in the same order. Lanes between two ranks and
/// one direction wait for nothing else, so whatever order the compute lanes have, messages alone never dead-lock.
/// Compute lanes stay as they are. O(operations).
Plan add_messages(Plan compute_only);

}  // namespace parabench::plan
