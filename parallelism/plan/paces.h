// How long what ranks hand on takes in a timeline, for ranks that rehearse it without each other.
#pragma once

#include <vector>

#include "parallelism/plan/timeline.h"

namespace parabench::plan {

/// Seconds of one rank's messages and collectives, [lane][index] as in its program; of the compute lane none.
using ExchangeSeconds = std::vector<std::vector<double>>;

/// From when the rank comes to each where it receives late (receiving_late()) until it ends in `timeline`, 0 where that
/// is before: with these a rank on its own has each when it has it there, as long as it computes as fast.
/// O(operations of the rank).
ExchangeSeconds exchange_seconds(const Plan& plan, const Timeline& timeline, Rank rank);

}  // namespace parabench::plan
