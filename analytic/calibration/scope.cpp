#include "analytic/calibration/scope.h"

#include <algorithm>
#include <set>

#include "analytic/costs/layer_seconds.h"
#include "parallelism/plan/routes.h"
#include "parallelism/plan/strategies/stage_widths.h"

namespace parabench::analytic {
namespace {

/// The piece sizes of the plan and half the largest, so that times interpolate.
std::vector<int> sample_counts(const plan::Plan& plan) {
  std::set<int> counts;
  for (const auto& replica : plan.pieces) counts.insert(replica.begin(), replica.end());
  counts.insert(std::max(2, *counts.rbegin() / 2));
  return {counts.begin(), counts.end()};
}

/// Servers that share runs are a group that no collective need run in.
std::vector<GroupShape> group_shapes(const plan::Plan& plan) {
  std::set<GroupShape> shapes;
  for (const plan::RankProgram& rank : plan.ranks) {
    for (const plan::Lane& lane : rank.lanes)
      if (lane.key.kind == plan::LaneKind::collectives)
        shapes.insert(group_shape(plan.placement, plan.groups[lane.key.group.value].ranks));
  }
  return {shapes.begin(), shapes.end()};
}

std::vector<SharesOfGroup> collectives_of_shares(const plan::Plan& plan) {
  std::set<SharesOfGroup> found;
  for (const plan::RankProgram& rank : plan.ranks)
    for (const plan::Lane& lane : rank.lanes)
      for (const plan::Op& op : lane.ops)
        if (share_curves(op.kind))
          found.insert({op.kind, group_shape(plan.placement, plan.groups[op.group.value].ranks)});
  return {found.begin(), found.end()};
}

/// Those of the plan's own messages that come first; on one host the first two ranks, which are as good as any.
std::vector<MessagePair> message_pairs(const plan::Plan& plan) {
  if (plan.spec.np == 1) return {};
  std::vector<MessagePair> pairs;
  const auto add = [&](Rank first, Rank second) {
    const bool between = !on_one_host(plan.placement, first, second);
    if (std::ranges::find(pairs, between, &MessagePair::between_hosts) == pairs.end())
      pairs.push_back({first, second, between});
  };
  const bool one_host = host_count(plan.placement) == 1;
  for (const plan::Route& route : plan::routes(plan)) one_host ? add(Rank(0), Rank(1)) : add(route.from, route.to);
  // A planner prices links also where its plan before this calibration sends nothing.
  if (plan::plans_widths(plan.spec))
    for (Rank other(1); other.value < plan.spec.np; ++other) add(Rank(0), other);
  std::ranges::sort(pairs, {}, &MessagePair::between_hosts);
  return pairs;
}

}  // namespace

std::map<RankCountKey, Curve> Calibration::*share_curves(plan::OpKind collective) {
  if (collective == plan::OpKind::reduce_scatter) return &Calibration::reduce_scatter;
  if (collective == plan::OpKind::all_gather) return &Calibration::all_gather;
  return nullptr;
}

CalibrationScope calibration_scope(const plan::Plan& plan) {
  return {.samples = sample_counts(plan),
          .split_backwards = plan::uses(plan, plan::OpKind::backward_input),
          .adds_gradients = plan::micro_batches(plan) > 1,
          .groups = group_shapes(plan),
          .shares = collectives_of_shares(plan),
          .messages = message_pairs(plan)};
}

Calibration promised_calibration(const plan::Plan& plan, const models::ModelSpec& model, const MachineInfo& machine) {
  const Case& spec = plan.spec;
  const CalibrationScope scope = calibration_scope(plan);
  const Curve curve = {{1'000, 1e-5}, {1'000'000, 1e-3}};
  Calibration promised;
  promised.machine = machine;
  const Sizes sizes(model);
  for (const int busy : std::set<int>{1, competing_ranks(spec, plan.placement)}) {
    for (const int samples : scope.samples) {
      const std::vector<double> seconds = layer_seconds(nullptr, machine, sizes, spec, samples);
      for (std::size_t l = 0; l < model.layers.size(); ++l) {
        const double third = seconds[l] / 3;
        LayerTiming timing{.samples = samples, .forward_s = third, .backward_s = 2 * third};
        const bool tells_bytes = scope.adds_gradients && busy == 1;
        if (scope.split_backwards) {
          SplitTiming& split = timing.split.emplace();
          split.input_s = split.weight_s = third;
          split.input_peak_bytes = split.weight_peak_bytes = 1;
          if (tells_bytes) split.adding_weight_peak_bytes = 1;
        }
        if (tells_bytes) timing.adding_peak_bytes = 1;
        auto& timings = promised.layers[layer_key(sizes.signature(static_cast<int>(l)), l == 0, spec, busy)];
        // Equal layers share their key.
        if (timings.empty() || timings.back().samples != samples) timings.push_back(timing);
      }
    }
    promised.update_s_per_parameter[update_key(spec)][busy] = 1e-9;
    if (spec.input == InputKind::host) promised.load_s_per_sample[load_key(spec)][busy] = 1e-9;
  }
  for (const GroupShape& group : scope.groups) promised.all_reduce[reduction_key(spec, group)] = curve;
  for (const auto& [collective, group] : scope.shares)
    (promised.*share_curves(collective))[reduction_key(spec, group)] = curve;
  for (const MessagePair& pair : scope.messages) promised.point_to_point[message_key(spec, pair.between_hosts)] = curve;
  return promised;
}

}  // namespace parabench::analytic
