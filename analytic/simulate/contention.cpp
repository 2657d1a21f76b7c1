#include "analytic/simulate/contention.h"

namespace parabench::analytic {

Contended contended(double alone_s, double crowded_s, const Crowd& crowd) {
  if (crowd.busy < 2 || !(alone_s > 0)) return {.by_cores_s = crowded_s};
  // As measurements are interpolated: on a line from one busy rank to all (MeasuredLayers::at).
  const double share = (crowd.busy - 1.0) / (crowd.all - 1.0);
  const double by_cores_s = alone_s * (1 + (crowd.wanted - 1) * share);
  if (crowded_s <= by_cores_s) return {.by_cores_s = crowded_s};
  return {by_cores_s, crowded_s / by_cores_s - 1};
}

double seconds_beside(const Contended& pass, double others_excess) {
  return pass.by_cores_s * (1 + (pass.excess + others_excess) / 2);
}

}  // namespace parabench::analytic
