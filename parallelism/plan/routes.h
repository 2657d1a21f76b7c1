// Which ways the messages and collectives of a plan take.
#pragma once

#include <map>
#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

struct Route {
  Payload payload = Payload::activation;
  Rank from, to;
  auto operator<=>(const Route&) const = default;
};

/// Every payload, sender and receiver that occur together, once and ascending, for backends that open a channel for
/// each. O(lanes).
std::vector<Route> routes(const Plan& plan);

/// Communicators know a group by number: 0 is every rank, declared ones follow. Each lane of collectives has a number
/// of its own, since each goes on in its own order.
struct CollectiveGroups {
  std::vector<std::vector<Rank>> declared;  ///< ranks of the groups 1, 2, ...
  std::map<LaneKey, CommGroupId> numbers;
};
/// The first lane over every rank gets group 0. O(lanes).
CollectiveGroups collective_groups(const Plan& plan);

}  // namespace parabench::plan
