#include "parallelism/plan/routes.h"

#include <algorithm>
#include <utility>

namespace parabench::plan {

std::vector<Route> routes(const Plan& plan) {
  std::vector<Route> routes;
  for (int r = 0; r < std::ssize(plan.ranks); ++r) {
    for (const Lane& lane : plan.ranks[r].lanes) {
      if (lane.key.kind == LaneKind::send && !lane.ops.empty()) {
        routes.push_back({lane.key.purpose, Rank(r), lane.key.peer});
      }
    }
  }
  std::ranges::sort(routes);
  return routes;
}

CollectiveGroups collective_groups(const Plan& plan) {
  CollectiveGroups groups;
  for (const RankProgram& rank : plan.ranks) {
    for (const Lane& lane : rank.lanes) {
      if (lane.key.kind == LaneKind::collectives) groups.numbers[lane.key] = CommGroupId();
    }
  }
  bool world_serves = false;
  for (auto& [key, number] : groups.numbers) {
    const std::vector<Rank>& ranks = plan.groups[key.group.value].ranks;
    if (ranks.size() == plan.ranks.size() && !std::exchange(world_serves, true)) continue;
    groups.declared.push_back(ranks);
    number = CommGroupId(static_cast<int>(groups.declared.size()));
  }
  return groups;
}

}  // namespace parabench::plan
