#include "analytic/costs/contention.h"

#include <algorithm>

namespace parabench::analytic {

Crowd crowd_of(int busy, int all, int threads, int cores) {
  const double most = std::max(cores, all * threads), alone = std::max(cores, threads);
  return {.busy = busy, .all = all, .wanted = most / alone};
}

double times_by_cores(const Crowd& crowd) {
  if (crowd.busy == 1) return 1;
  return 1 + (crowd.wanted - 1) * (crowd.busy - 1.0) / (crowd.all - 1.0);
}

Contended contended(double alone_s, double crowded_s, const Crowd& crowd) {
  if (crowd.busy == 1 || !(alone_s > 0)) return {.by_cores_s = crowded_s};
  const double by_cores_s = alone_s * times_by_cores(crowd);
  if (crowded_s <= by_cores_s) return {.by_cores_s = crowded_s};
  return {by_cores_s, crowded_s / by_cores_s - 1};
}

double seconds_beside(const Contended& pass, double others_excess, double at_once) {
  return pass.by_cores_s * (1 + others_excess + (pass.excess - others_excess) / at_once);
}

}  // namespace parabench::analytic
