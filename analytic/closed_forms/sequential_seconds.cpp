#include "analytic/closed_forms/sequential_seconds.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace parabench::analytic {

double sequential_seconds(const plan::Plan& plan, const TimeModel& time) {
  const auto holders = plan::holders(plan);
  const std::vector<int>& pieces = plan.pieces.front();
  double sum = 0;
  for (SegmentId s; s.value < std::ssize(plan.segments); ++s) {
    const Rank rank = holders[plan::stage_of(plan, s).value].front();
    sum += time.seconds(plan, rank, plan::update(s, 1, StepId(0), VersionId(0)), 1);
    // Pieces of as many samples lie side by side and take as long.
    for (auto first = pieces.begin(), end = first; first != pieces.end(); first = end) {
      end = std::find_if(first, pieces.end(), [&](int samples) { return samples != *first; });
      const MicroBatchId m(static_cast<int>(first - pieces.begin()));
      sum += static_cast<double>(end - first) *
             (time.seconds(plan, rank, plan::forward(s, m, StepId(0), VersionId(0)), 1) +
              time.seconds(plan, rank, plan::backward(s, m, StepId(0), VersionId(0)), 1));
    }
  }
  return sum;
}

}  // namespace parabench::analytic
