#include "results/report/pareto.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace parabench::results {
namespace {

bool is_known(double value) { return std::isfinite(value) && value > 0; }

}  // namespace

std::vector<bool> pareto_front(std::span<const Cost> points) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (is_known(points[i].time) && is_known(points[i].memory)) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::tuple(points[i].time, points[i].memory, i); });
  std::vector<bool> front(points.size());
  double least = std::numeric_limits<double>::infinity();
  double time_of_least = 0;
  for (const std::size_t i : order) {
    // Equal points beat each other in nothing: all of them are on the front.
    const bool equal = points[i].memory == least && points[i].time == time_of_least;
    if (points[i].memory >= least && !equal) continue;
    front[i] = true;
    least = points[i].memory;
    time_of_least = points[i].time;
  }
  return front;
}

}  // namespace parabench::results
