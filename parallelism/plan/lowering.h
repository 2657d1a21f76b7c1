// From compute order to messages.
#pragma once

#include "parallelism/plan/plan.h"

namespace parabench {

/// Adds the sends and receives that a compute-only plan needs, "sender places the receive"
/// (torch.distributed.pipelining): ranks are visited round robin, each emits its next action once its input is local or
/// its receive has been placed, and an action whose consumer lives elsewhere places its send here and the receive there
/// in the same step. The order of emission is a total order in which each send stands beside its receive, so lanes that
/// keep it cannot dead-lock, whatever is split among them. Compute lanes stay as they are. Throws usage_error for an
/// order in which no rank can go on.
Plan add_messages(Plan compute_only);

}  // namespace parabench
