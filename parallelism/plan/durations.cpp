#include "parallelism/plan/durations.h"

#include "parallelism/plan/unrolled.h"

namespace parabench::plan {

Durations unroll(const Plan& plan, const Durations& durations, int steps) {
  Durations result = durations;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    for (std::size_t lane = 0; lane < plan.ranks[r].lanes.size(); ++lane) {
      const auto& ops = plan.ranks[r].lanes[lane].ops;
      const auto& once = durations[r][lane];
      auto& all = result[r][lane];
      if (plan.asynchronous) {
        all.clear();
        for (std::size_t i = 0; i < ops.size(); ++i) {
          if (ops[i].step.value < steps) all.push_back(once[i]);
        }
      } else {
        const int times = window(plan, 0, steps).measured / plan.steps;
        all.clear();
        for (const Repeated& next : unrolled_lane(plan, ops, times)) all.push_back(once[next.index]);
      }
    }
  }
  return result;
}

}  // namespace parabench::plan
