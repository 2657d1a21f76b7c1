#include "parallelism/plan/routes.h"

#include <algorithm>

namespace parabench {

std::vector<Route> routes(const Plan& plan) {
  std::vector<Route> routes;
  for (int r = 0; r < std::ssize(plan.ranks); ++r) {
    for (const Lane& lane : plan.ranks[r].lanes) {
      if (is_send(lane.kind) && !lane.ops.empty()) routes.push_back({lane.kind, Rank(r), Rank(lane.key)});
    }
  }
  std::ranges::sort(routes);
  return routes;
}

}  // namespace parabench
