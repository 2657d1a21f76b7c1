#include "analytic/calibration/scope.h"

#include <algorithm>
#include <set>
#include <string>

#include "analytic/costs/layer_seconds.h"
#include "base/case_text.h"
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
std::vector<int> group_sizes(const plan::Plan& plan) {
  std::set<int> sizes;
  for (const plan::RankProgram& rank : plan.ranks) {
    for (const plan::Lane& lane : rank.lanes)
      if (lane.key.kind == plan::LaneKind::collectives)
        sizes.insert(static_cast<int>(plan.groups[lane.key.group.value].ranks.size()));
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace

CalibrationScope calibration_scope(const plan::Plan& plan) {
  // A planner prices links also where its plan before this calibration sends nothing.
  return {.samples = sample_counts(plan),
          .split_backwards = plan::uses(plan, plan::OpKind::backward_input),
          .group_sizes = group_sizes(plan),
          .messages = plan.spec.np > 1 && (plan::uses(plan, plan::OpKind::send) || plan::plans_widths(plan.spec))};
}

Calibration promised_calibration(const plan::Plan& plan, const models::ModelSpec& model, const MachineInfo& machine) {
  const Case& spec = plan.spec;
  const CalibrationScope scope = calibration_scope(plan);
  const DeviceKind device = measured_device(spec);
  const Curve curve = {{1'000, 1e-5}, {1'000'000, 1e-3}};
  Calibration promised;
  promised.machine = machine;
  const Sizes sizes(model);
  for (const int busy : std::set<int>{1, spec.np}) {
    for (const int samples : scope.samples) {
      const std::vector<double> seconds = layer_seconds(nullptr, machine, sizes, spec, samples);
      for (std::size_t l = 0; l < model.layers.size(); ++l) {
        const double third = seconds[l] / 3;
        LayerTiming timing{.samples = samples, .forward_s = third, .backward_s = 2 * third};
        if (scope.split_backwards) timing.split = SplitTiming{.input_s = third, .weight_s = third};
        auto& timings = promised.layers[layer_key(sizes.signature(static_cast<int>(l)), l == 0, spec, busy)];
        // Equal layers share their key.
        if (timings.empty() || timings.back().samples != samples) timings.push_back(timing);
      }
    }
    promised.update_s_per_parameter[update_key(spec)][busy] = 1e-9;
    promised.copy_bytes_per_s[device][busy] = 1e9;
  }
  const std::string comm(to_text(spec.comm));
  for (const int members : scope.group_sizes) promised.all_reduce[reduction_key(spec, members)] = curve;
  if (scope.messages) promised.point_to_point[{comm, spec.np, device}] = curve;
  return promised;
}

}  // namespace parabench::analytic
