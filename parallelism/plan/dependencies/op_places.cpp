#include "parallelism/plan/dependencies/op_places.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace parabench::plan {

OpPlaces::OpPlaces(const Plan& plan, Rank rank) : plan_(plan), rank_(rank), slot_(plan.segments.size(), nowhere) {
  for (const SegmentId s : segments_held(plan, rank)) slot_[s.value] = static_cast<int>(held_++);
}

void OpPlaces::missing(const Op& op) const {
  throw usage_error(
      "plan", to_text(op) + " of step " + std::to_string(op.step.value) + " on rank " + std::to_string(rank_.value),
      "what it waits for on the same rank");
}

bool has_collectives(const Plan& plan, Rank rank, Payload purpose) {
  return std::ranges::any_of(plan.ranks[rank.value].lanes,
                             [&](const Lane& lane) { return is_collectives_of(lane.key, purpose); });
}

}  // namespace parabench::plan
