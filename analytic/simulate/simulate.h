// Runs a plan on paper.
#pragma once

#include "analytic/costs/time_model.h"
#include "parallelism/plan/timeline.h"

namespace parabench::analytic {

/// The timeline of `plan` (unrolled) by `time`: lanes in order, operations when their dependencies have ended; with
/// executor:futurized the compute lanes by readiness (by_readiness.h).
///  - Messages are a rendezvous: from the moment when both lanes have come to it, for seconds(send); both ends stay
///    occupied until it has arrived. Spans start when the operation was posted, as the executor's do.
///  - Servers take the gradients that come first (first_come.h), those that come at the same instant by rank. A worker
///    that comes too late for a step computes nothing in it; its passes take no time.
///  - Collectives start when all members of the group have come to it.
///  - Where time.shares_links(), messages and collectives of a rank share its link (plan::SharedLinks): that is on top
///    of what they take alone. Elsewhere the lanes of a rank do not delay each other.
///  - Where time.cores() > 0, running operations share cores (processor sharing) where their threads are more: those of
///    a pool of C cores. A host (Plan::placement) is one, all cores being its own; where these suffice for the threads
///    that its ranks compute on, each rank is one, with time.cores_of_rank(). A compute operation uses
///    threads_of_operation(spec) threads, a message one at each end, a collective one per member. A thread of a message
///    or collective of weight w gets min(1, w C / W) cores, W being the weights of all threads of the pool, computing
///    ones of 1. w is such that it is slowed down by time.beside_computing().slowdown while every rank of its fullest
///    pool computes on one thread, at most 20; 1 where that is unknown, so that all share equally. Computing threads
///    divide equally what is left of the cores: each thread of a message or collective takes lost_share of what a rank
///    has from them, or what it gets where that is unknown. What an operation suffered when it was measured (busy
///    ranks; more threads than cores) is not charged again; of an exchange in several pools the slowest counts. The
///    work of GPUs takes no cores. Seconds of computing follow the number of ranks of the host that compute, moment by
///    moment, and what these compute (contention.h); those of what moves much memory and computes little (updates,
///    additions) the number of its ranks that do, or take part in a collective: passes slow them down by their share of
///    the cores alone. Passes were measured while as many threads computed; updates while as many updated, so that
///    these share cores with passes beside them on top (a little too much of it where their rate lies between that of
///    one rank and that of all, which shared cores as well). Several exchanges of a rank at once are as many threads,
///    though one drives them all. Where time.cores() is 0, busy_ranks is 1.
///  - There, too, messages and collectives between hosts share the links of their hosts, which have a port for each
///    direction: parts().transfer is stretched by how many pass through the fullest port that they pass through, a
///    collective through both of every host that it has members on. Where it shares cores as well, the scarcer of the
///    two counts, since what waits for one needs less of the other. What a message shares its link with anyway
///    (link_sharers) is not charged again.
///  - Where racks of hosts have uplinks (time.uplinks()), what the links of hosts let out of a rack, or into it, at a
///    moment passes its uplink at the same share of that, all of it where the uplink is wide enough.
/// Deterministic. Throws Error naming, rank by rank, the operations that wait for each other when the plan
/// dead-locks. O(n) in operations; with shared cores O(n k), k being the operations that run at a time and the ranks
/// that their collectives have; with shared links O(n (p + log n)), p being the ranks of a collective.
plan::Timeline simulate(const plan::Plan& plan, const TimeModel& time);

}  // namespace parabench::analytic
