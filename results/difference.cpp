#include "results/difference.h"

#include <algorithm>
#include <vector>

#include "base/statistics.h"
#include "results/summary.h"

namespace parabench::results {
namespace {

std::optional<double> floor_of(const Record& record) {
  if (!record.error || !record.error->noise_floor) return std::nullopt;
  return record.error->noise_floor->relative;
}

}  // namespace

Difference difference(double one_s, double other_s, std::optional<double> one_floor,
                      std::optional<double> other_floor) {
  return {one_s / other_s - 1, std::max(one_floor.value_or(0), other_floor.value_or(0))};
}

Difference difference_by_turns(const Record& one, const Record& other) {
  const std::vector<double> ones = launch_medians(*one.measured), others = launch_medians(*other.measured);
  if (ones.size() < 2 || ones.size() != others.size())
    return difference(one.measured->step_time_s.median, other.measured->step_time_s.median, floor_of(one),
                      floor_of(other));
  std::vector<double> ratios;
  for (std::size_t round = 0; round < ones.size(); ++round) ratios.push_back(ones[round] / others[round]);
  return {median(ratios) - 1, spread_of(ratios)};
}

}  // namespace parabench::results
