#include "parallelism/plan/first_come.h"

#include <algorithm>
#include <utility>

namespace parabench::plan {

std::optional<double> FirstCome::may_start(const Op& add, std::span<const OpRef> receives, const Came& came) {
  auto& [taken, decider] = steps_[add.step.value];
  if (!taken.empty()) return came(source(add, receives));
  std::vector<std::pair<double, int>> arrivals;
  for (int worker = 0; worker < std::ssize(receives); ++worker)
    if (const auto at = came(receives[worker])) arrivals.emplace_back(*at, worker);
  if (std::ssize(arrivals) < plan_.taken) return std::nullopt;
  std::ranges::sort(arrivals);
  arrivals.resize(plan_.taken);
  for (const auto& [at, worker] : arrivals) taken.push_back(worker);
  std::ranges::sort(taken);
  decider = add;
  return arrivals.back().first;
}

std::vector<OpRef> FirstCome::awaited(const Op& add, std::span<const OpRef> receives) const {
  const auto& [taken, decider] = steps_[add.step.value];
  std::vector<OpRef> awaited = {source(add, receives)};
  if (add != decider) return awaited;
  for (const int worker : taken)
    if (receives[worker] != awaited.front()) awaited.push_back(receives[worker]);
  return awaited;
}

std::vector<std::vector<OpRef>> newer_weights(const Plan& plan, Rank worker) {
  std::vector<std::vector<OpRef>> receives(plan.steps);
  const std::vector<Lane>& lanes = plan.ranks[worker.value].lanes;
  for (int l = 0; l < std::ssize(lanes); ++l) {
    if (lanes[l].key.kind != LaneKind::receive || lanes[l].key.purpose != Payload::parameters) continue;
    for (int i = 0; i < std::ssize(lanes[l].ops); ++i) {
      std::vector<OpRef>& of_step = receives[lanes[l].ops[i].step.value];
      // Within a lane the last one comes after the others.
      if (!of_step.empty() && of_step.back().lane == l) of_step.pop_back();
      of_step.push_back({worker, l, i});
    }
  }
  return receives;
}

}  // namespace parabench::plan
