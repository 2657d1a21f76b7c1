#include "parallelism/plan/strategies/c10d.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/case_text.h"
#include "base/error.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/state/state_layout.h"
#include "parallelism/plan/strategies/data_parallel.h"

namespace parabench::plan {
namespace {

/// Of gradients that come in backward order, a layer's last parameter first.
struct Buckets {
  std::vector<int> completing;  ///< by segment: the bucket that completes its gradients; -1 without parameters
  std::vector<Bytes> sizes;     ///< in the order in which they are summed
};

Buckets buckets_of(const Plan& plan, const models::ModelSpec& model) {
  const BucketLimits limits = bucket_limits(plan.spec);
  Buckets buckets{.completing = std::vector<int>(plan.segments.size(), -1), .sizes = {Bytes(0)}};
  for (int s = static_cast<int>(plan.segments.size()) - 1; s >= 0; --s) {
    const Segment& segment = plan.segments[s];
    for (int layer = segment.first_layer + segment.layers - 1; layer >= segment.first_layer; --layer) {
      const std::vector<models::ParameterSpec> tensors = models::parameters(model.layers[layer]);
      for (int i = static_cast<int>(tensors.size()) - 1; i >= 0; --i) {
        const models::ParameterPlace place{layer, i};
        if (plan.tie && models::origin(model, place) != place) continue;
        if (buckets.sizes.back() >= (buckets.sizes.size() == 1 ? limits.first : limits.others))
          buckets.sizes.emplace_back(0);
        buckets.sizes.back() += Bytes(tensors[i].elements() * parameter_bytes(plan.spec.precision));
        buckets.completing[s] = static_cast<int>(buckets.sizes.size()) - 1;
      }
    }
  }
  return buckets;
}

}  // namespace

BucketLimits bucket_limits(const Case& spec) {
  const Bytes asked = spec.bucket;
  return {asked == Case{}.bucket ? Bytes(std::int64_t{1} << 20) : asked, asked};
}

bool sums_by_reducer(const Case& spec) { return spec.strategy.name == "c10d" && spec.np > 1; }

Bytes summed_bytes(const Plan& plan, const models::ModelSpec& model, const Op& sum) {
  const Buckets buckets = buckets_of(plan, model);
  const auto run = buckets.completing.begin() + sum.segment.value;
  const int last = *std::max_element(run, run + sum.segments);
  // The runs behind it were summed before.
  const auto before = std::max_element(run + sum.segments, buckets.completing.end());
  const int first = before == buckets.completing.end() ? 0 : *before + 1;
  return std::accumulate(buckets.sizes.begin() + std::min(first, last + 1), buckets.sizes.begin() + last + 1, Bytes(0));
}

void check_reducer(const Case& spec) {
  if (!sums_by_reducer(spec)) return;
  if (spec.device == DeviceKind::cuda)
    throw usage_error("device", to_text(spec.device),
                      "cpu for c10d: its reducer is handed sums of the processor's memory alone",
                      "try device:cpu, or data-parallel");
  if (spec.recompute != Recompute::none)
    throw usage_error("recompute", to_text(spec.recompute), "none for c10d: its backward is one call of autograd",
                      "leave recompute out, or try data-parallel");
}

Plan c10d_plan(const StrategyInput& input) {
  return replicated_plan(input, [&](Plan plan) {
    const std::vector<int> completing = buckets_of(plan, input.model).completing;
    int open = -1;  // the bucket of the run
    const auto runs = gradient_runs(plan, gradient_bytes(plan, input.model), [&](Bytes size, SegmentId next) {
      const int bucket = completing[next.value];
      if (bucket < 0) return false;
      return std::exchange(open, bucket) != bucket && size > Bytes(0);
    });
    plan = add_reductions(std::move(plan), runs);
    const std::vector<SegmentRun> whole = whole_stages(plan);
    return add_updates(std::move(plan), whole);
  });
}

}  // namespace parabench::plan
