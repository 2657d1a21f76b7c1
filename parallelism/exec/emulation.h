// Emulated devices: a plan runs in real time without computing anything.
#pragma once

#include "parallelism/exec/lane_runner.h"
#include "parallelism/plan/durations.h"

namespace parabench::exec {

/// Runs `plan` (unrolled) as rank `comm.rank()`, by run_lanes(): every operation waits out its `durations`, asleep.
///  - A compute operation is due its duration after the previous one was due, or after its inputs came, whichever is
///    later: a thread that wakes up late delays what waits for its result, not what follows on its own lane.
///  - Messages and reductions are modelled: through the communicator go moments of posting, 8 bytes from each end, and
///    the operation ends its duration after the last of them, as in simulate(). Nothing is allocated but those.
///  - All ranks begin at one moment, agreed on before.
///  - Every rank has its device to itself: ranks do not compete, however few cores there are.
/// `comm`: ranks of one process, or of one host, since they share a clock; with the plan's collective_groups(). Throws
/// PeerFailure.
RankSpans emulate(const plan::Plan& plan, const plan::Durations& durations, comm::Communicator& comm);

}  // namespace parabench::exec
