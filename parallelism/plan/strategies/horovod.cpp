#include "parallelism/plan/strategies/horovod.h"

#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/units_text.h"
#include "parallelism/plan/strategies/data_parallel.h"
#include "parallelism/plan/strategies/parameters.h"

namespace parabench::plan {
namespace {

/// The look that finds gradients which are ready by then. A time that is a whole number of cycles but for its rounding
/// belongs to that number.
double look(double ready, Seconds cycle) {
  return cycle.value > 0 ? std::ceil(ready / cycle.value * (1 - 1e-12)) : ready;
}

}  // namespace

Fusion fusion(const Case& spec) {
  const std::string buffer = parameter_text(spec, "fusion"), cycle = parameter_text(spec, "cycle");
  const std::string subject = "fusion of horovod";
  const Fusion read{parse_bytes(subject, buffer), parse_seconds("cycle of horovod", cycle)};
  if (read.buffer < Bytes(1))
    throw usage_error(subject, buffer, std::string(fusion_expected), "try fusion=" + std::string(usual_fusion));
  return read;
}

std::vector<SegmentRun> fuse(const Plan& plan, std::span<const Bytes> segment_bytes, std::span<const double> ready,
                             const Fusion& fusion) {
  double found = 0;  // the look that found the run's gradients
  return gradient_runs(plan, segment_bytes, [&](Bytes size, SegmentId next) {
    const Bytes more = segment_bytes[next.value];
    if (more == Bytes(0)) return false;
    const double before = std::exchange(found, look(ready[next.value], fusion.cycle));
    return size > Bytes(0) && (found != before || size + more > fusion.buffer);
  });
}

std::vector<double> gradients_ready(const Plan& plan, std::span<const double> layer_seconds) {
  std::vector<double> ready(plan.segments.size(), 0.0);
  if (layer_seconds.empty()) return ready;
  double now = std::accumulate(layer_seconds.begin(), layer_seconds.end(), 0.0) / 3;
  for (std::size_t s = ready.size(); s-- > 0;) {
    const auto first = layer_seconds.begin() + plan.segments[s].first_layer;
    now += std::accumulate(first, first + plan.segments[s].layers, 0.0) * 2 / 3;
    ready[s] = now;
  }
  return ready;
}

Plan horovod_plan(const StrategyInput& input) {
  const Fusion by = fusion(input.spec);
  return replicated_plan(input, [&](Plan plan) {
    const auto runs = fuse(plan, gradient_bytes(plan, input.model), gradients_ready(plan, input.profile.seconds), by);
    return add_reduced_updates(std::move(plan), runs);
  });
}

}  // namespace parabench::plan
