#include "parallelism/plan/paces.h"

#include <algorithm>

#include "parallelism/plan/dependencies.h"

namespace parabench::plan {

ExchangeSeconds exchange_seconds(const Plan& plan, const Timeline& timeline, Rank rank) {
  const LocalDependencies late = receiving_late(plan, rank, dependencies(plan, rank));
  const std::vector<std::vector<Span>>& spans = timeline.ranks[rank.value];
  ExchangeSeconds seconds(spans.size());
  for (int lane = compute_lane + 1; lane < std::ssize(spans); ++lane) {
    double before = timeline.origin;
    for (int i = 0; i < std::ssize(spans[lane]); ++i) {
      double since = before;
      for (const OpRef& ref : late.of(lane, i)) since = std::max(since, spans[ref.lane][ref.index].end);
      before = spans[lane][i].end;
      seconds[lane].push_back(std::max(0.0, before - since));
    }
  }
  return seconds;
}

}  // namespace parabench::plan
