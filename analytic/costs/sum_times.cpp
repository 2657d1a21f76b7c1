#include "analytic/costs/sum_times.h"

#include <limits>
#include <utility>

#include "analytic/calibration/profile.h"
#include "base/error.h"
#include "parallelism/plan/strategies/stage_widths.h"

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

std::optional<double> ring_bytes_per_s(const TimeModel& time, const Sizes& sizes, plan::Plan layers,
                                       std::vector<Rank> members) {
  const auto m = static_cast<double>(members.size());
  if (m < 2) return std::nullopt;
  try {
    const double rate = sum_times(time, sizes, std::move(layers), std::move(members)).bytes_per_s;
    return rate > 0 ? 2 * (m - 1) / m * rate : std::numeric_limits<double>::infinity();
  } catch (const Error& error) {
    if (error.code() != ExitCode::environment) throw;
    return std::nullopt;
  }
}

plan::ReplicaLink replica_link(const TimeModel& time, const Sizes& sizes, const plan::Plan& plan,
                               std::vector<Rank> replicas) {
  const plan::ReplicaLink link{time.link(plan).bytes_per_s, plan::sync_model(plan.spec)};
  plan::Plan layers = single_layers(plan.spec, sizes.model(), plan.pieces[0][0], plan.placement);
  const auto ring = ring_bytes_per_s(time, sizes, std::move(layers), std::move(replicas));
  return {link.bytes_per_s, link.sync, ring.value_or(link.sum_bytes_per_s)};
}

}  // namespace parabench::analytic
