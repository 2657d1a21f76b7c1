// Emulated devices: a plan runs in real time without computing anything.
#pragma once

#include "parallelism/exec/emulated_links.h"
#include "parallelism/exec/lane_runner.h"
#include "parallelism/plan/durations.h"

namespace parabench::exec {

/// Runs `plan` (unrolled) as rank `comm.rank()`, by run_lanes(): every operation waits out its `durations`, asleep.
///  - A compute operation is due its duration after the previous one was due, or after its inputs came, whichever is
///    later: a thread that wakes up late delays what waits for its result, not what follows on its own lane.
///  - Messages and collectives are modelled: their ends meet at `links`, and the operation ends its duration after the
///    last of them has come, or later where it shares links, as in simulate(). Nothing moves, nothing is allocated.
///  - All ranks begin at one moment, agreed on before.
///  - Every rank has its device to itself: ranks do not compete, however few cores there are.
/// `links`: the same for all ranks, which are threads of one process. Throws PeerFailure.
RankSpans emulate(const plan::Plan& plan, const plan::Durations& durations, EmulatedLinks& links,
                  comm::Communicator& comm);

}  // namespace parabench::exec
