#include "analytic/calibration/rising.h"

#include <vector>

namespace parabench::analytic {
namespace {

/// Neighbours that have one value.
struct Pool {
  double seconds = 0;
  int points = 0;
};

Pool together(const Pool& a, const Pool& b) {
  const int points = a.points + b.points;
  return {(a.seconds * a.points + b.seconds * b.points) / points, points};
}

/// Of points that do not know it, nothing.
void let_rise(Curve& curve, double CurvePoint::*seconds) {
  std::vector<Pool> pools;
  for (const CurvePoint& point : curve) {
    if (!(point.*seconds > 0)) continue;
    Pool last{point.*seconds, 1};
    for (; !pools.empty() && pools.back().seconds > last.seconds; pools.pop_back()) last = together(pools.back(), last);
    pools.push_back(last);
  }
  auto pool = pools.begin();
  int in_pool = 0;
  for (CurvePoint& point : curve) {
    if (!(point.*seconds > 0)) continue;
    point.*seconds = pool->seconds;
    if (++in_pool < pool->points) continue;
    ++pool;
    in_pool = 0;
  }
}

}  // namespace

Curve rising(Curve curve) {
  let_rise(curve, &CurvePoint::seconds);
  let_rise(curve, &CurvePoint::loaded_s);
  return curve;
}

}  // namespace parabench::analytic
