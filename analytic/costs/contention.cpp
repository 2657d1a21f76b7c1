#include "analytic/costs/contention.h"

#include <algorithm>

#include "base/placement.h"

namespace parabench::analytic {

Crowd crowd_of(const plan::Plan& plan, int cores) {
  const int ranks = ranks_on_fullest_host(plan.placement, plan.spec.np), threads = threads_of_operation(plan.spec);
  const double wanted = std::max(cores, ranks * threads), alone = std::max(cores, threads);
  return {.ranks = ranks, .by_cores = wanted / alone};
}

double times_by_cores(const Crowd& crowd, int busy) {
  if (busy == 1 || crowd.ranks == 1) return 1;
  return 1 + (crowd.by_cores - 1) * (std::min(busy, crowd.ranks) - 1.0) / (crowd.ranks - 1.0);
}

Contended contended(double alone_s, double crowded_s, const Crowd& crowd, int busy) {
  if (busy == 1 || !(alone_s > 0)) return {.by_cores_s = crowded_s};
  const double by_cores_s = alone_s * times_by_cores(crowd, busy);
  if (crowded_s <= by_cores_s) return {.by_cores_s = crowded_s};
  return {by_cores_s, crowded_s / by_cores_s - 1};
}

double seconds_beside(const Contended& pass, double others_excess, double at_once) {
  return pass.by_cores_s * (1 + others_excess + (pass.excess - others_excess) / at_once);
}

}  // namespace parabench::analytic
