// Which ways the messages of a plan take.
#pragma once

#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench {

struct Route {
  LaneKind kind = LaneKind::send_forward;  ///< of the lane that sends: send_forward or send_backward
  Rank from, to;
  auto operator<=>(const Route&) const = default;
};

/// Every way that some message takes, once and ascending: what a backend has to know that makes something for each.
/// O(lanes).
std::vector<Route> routes(const Plan& plan);

}  // namespace parabench
