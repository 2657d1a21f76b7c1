// How long what ranks hand on takes in a timeline, for ranks that rehearse it without each other.
#pragma once

#include <vector>

#include "parallelism/plan/timeline.h"

namespace parabench::plan {

/// Seconds of one rank's messages and collectives, [lane][index] as in its program; of the compute lane none.
using ExchangeSeconds = std::vector<std::vector<double>>;

/// Of each the time from the moment at which the rank could start it in `timeline`, of the plan (unrolled), if it
/// received late (receiving_late()), to its end there; 0 where it had ended before. A rank that has nobody to exchange
/// with, and computes as fast as there, then computes when it does there. Throws what dependencies() throws.
/// O(operations of the rank).
ExchangeSeconds exchange_seconds(const Plan& plan, const Timeline& timeline, Rank rank);

}  // namespace parabench::plan
