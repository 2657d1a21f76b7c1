// How the system schedules a thread that mostly waits for others.
#pragma once

namespace parabench {

/// Asks for slices of 0.1 ms for the calling thread, so that it runs soon after it was woken and not when a thread that
/// computes on its core has used up a slice of some milliseconds; its share of the core stays what it was. What that
/// makes of a hand-over between two threads that each have such a neighbour: tests/benchmarks/hand_over_benchmark.cpp.
/// Needs no privileges. Linux since 6.12 listens (sched_setattr(2), sched_runtime of SCHED_OTHER); elsewhere, and for a
/// thread of another policy, nothing changes.
void ask_for_short_slices();

}  // namespace parabench
