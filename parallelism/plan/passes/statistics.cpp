#include "parallelism/plan/passes/statistics.h"

#include <algorithm>

namespace parabench::plan {

std::vector<SegmentId> statistics_segments(std::span<const Segment> segments, const models::ModelSpec& model) {
  const std::vector<TensorSpec> boundaries = models::boundaries(model);
  std::vector<SegmentId> found;
  for (SegmentId s; s.value < std::ssize(segments); ++s) {
    const Segment& segment = segments[s.value];
    if (boundaries[segment.first_layer + segment.layers].kind() == ElementKind::sums) found.push_back(s);
  }
  return found;
}

bool sums_statistics(const Plan& plan, const Op& op) {
  if (op.kind != OpKind::all_reduce || !is_of_micro_batch(op.payload)) return false;
  const int maker = op.segment.value - (op.payload == Payload::activation ? 0 : 1);
  return std::ranges::binary_search(plan.statistics, SegmentId(maker));
}

std::optional<Op> sum_of_statistics(const Plan& plan, const Op& pass, GroupId group) {
  if (pass.kind != OpKind::forward && !makes_input_gradient(pass.kind)) return std::nullopt;
  const auto sum_of = pass.kind == OpKind::forward ? all_reduce_forward : all_reduce_backward;
  const Op sum = sum_of(pass.segment, pass.micro_batch, pass.step, group);
  return sums_statistics(plan, sum) ? std::optional(sum) : std::nullopt;
}

Plan add_statistics_sums(Plan plan) {
  if (plan.statistics.empty()) return plan;
  const std::vector<std::vector<Rank>> sharers = holders(plan);
  std::vector<GroupId> groups(plan.stages, GroupId(-1));
  for (const SegmentId s : plan.statistics) {
    const int stage = stage_of(plan, s).value;
    if (sharers[stage].size() < 2 || groups[stage].value >= 0) continue;
    groups[stage] = GroupId(static_cast<int>(plan.groups.size()));
    plan.groups.push_back({Axis::data, sharers[stage]});
  }
  for (RankProgram& rank : plan.ranks) {
    const std::vector<Op> passes = rank.compute();  // a new lane moves the others
    for (const Op& pass : passes) {
      const GroupId group = groups[stage_of(plan, pass.segment).value];
      if (group.value < 0) continue;
      if (const auto sum = sum_of_statistics(plan, pass, group)) rank.lane(lane_of(*sum)).push_back(*sum);
    }
  }
  return plan;
}

}  // namespace parabench::plan
