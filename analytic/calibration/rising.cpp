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

}  // namespace

Curve rising(Curve curve) {
  std::vector<Pool> pools;
  for (const CurvePoint& point : curve) {
    Pool last{point.seconds, 1};
    for (; !pools.empty() && pools.back().seconds > last.seconds; pools.pop_back()) last = together(pools.back(), last);
    pools.push_back(last);
  }
  auto point = curve.begin();
  for (const Pool& pool : pools)
    for (int i = 0; i < pool.points; ++i) (point++)->seconds = pool.seconds;
  return curve;
}

}  // namespace parabench::analytic
