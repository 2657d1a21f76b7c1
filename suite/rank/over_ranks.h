// Figures of all ranks.
#pragma once

#include <span>
#include <vector>

#include "parallelism/comm/communicator.h"

namespace parabench::rank {

/// By rank, on rank 0; on the others their own alone. Collective.
std::vector<double> gathered(comm::Communicator& comm, double value);
/// The largest of all on rank 0, on the others their own. Collective.
double largest_of(comm::Communicator& comm, double value);

/// When a rank began something and ended it, on its host's clock.
struct Interval {
  double begin_s = 0, end_s = 0;
  double seconds() const { return end_s - begin_s; }
};
/// What each of these ranks of one host takes for what all do at once: their mean. Where they have more threads than
/// there are cores (`takes_turns`), from the first one's begin to the last one's end, since a rank that waits for a
/// core has not begun. Precondition: one rank or more.
double at_once_s(std::span<const Interval> ranks, bool takes_turns);

}  // namespace parabench::rank
