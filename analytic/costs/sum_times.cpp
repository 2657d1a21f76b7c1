#include "analytic/costs/sum_times.h"

#include <utility>

namespace parabench::analytic {

plan::SumTimes sum_times(const TimeModel& time, const Sizes& sizes, plan::Plan layers, std::vector<Rank> members) {
  layers.ranks.assign(layers.spec.np, layers.ranks.front());
  const Rank first = members.front();
  layers.groups = {{plan::Axis::data, std::move(members)}};
  const auto segments = static_cast<int>(layers.segments.size());
  const plan::Op sum = plan::all_reduce(SegmentId(0), segments, StepId(0), GroupId(0));
  const TimeParts whole = time.parts(layers, first, sum, 1);
  const double transfer = whole.total() - whole.latency;
  const auto bytes = static_cast<double>(sizes.payload_bytes(layers, first, sum));
  return {whole.latency, transfer > 0 ? bytes / transfer : 0};
}

}  // namespace parabench::analytic
