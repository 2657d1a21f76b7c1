// Whether the lanes of a plan get to their end, without times.
#pragma once

#include <span>
#include <vector>

#include "parallelism/plan/matching.h"

namespace parabench::plan {

enum class Delivery {
  rendezvous,  ///< a send ends together with its receive
  buffered,    ///< a send ends at once, the receive any time after it
};

struct LaneRun {
  std::vector<OpRef> order;  ///< operations in the order in which they ended: a total order that keeps every lane's own
  std::vector<OpRef> stuck;  ///< heads of the lanes that never ended; empty for a plan without dead-lock
};

/// Runs every lane as far as it goes. `local` holds the dependencies of each rank.
LaneRun run_lanes(const Plan& plan, std::span<const LocalDependencies> local, const Matching& matching,
                  Delivery delivery);

}  // namespace parabench::plan
