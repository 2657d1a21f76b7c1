#include "analytic/costs/cost_model.h"

#include <algorithm>
#include <limits>

#include "analytic/calibration/profile.h"

namespace parabench {
namespace {

/// Ranks that can get into each other's way.
int competing_ranks(const Case& spec) { return spec.device == DeviceKind::emulated ? 1 : spec.np; }

/// Whether the timings of every layer, with one rank busy and with all, are there and accepted.
bool all_layers(const Calibration& calibration, const ModelSpec& model, const Case& spec,
                bool (*accepts)(const std::vector<LayerTiming>&)) {
  const std::vector<TensorSpec> in = boundaries(model);
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    for (const int busy : {1, competing_ranks(spec)}) {
      const auto found = calibration.layers.find(layer_key(model.layers[l], in[l], l == 0, spec, busy));
      if (found == calibration.layers.end() || !accepts(found->second)) return false;
    }
  }
  return true;
}

}  // namespace

double share_of_all_reduce(OpKind collective) { return collective == OpKind::all_reduce ? 1 : 0.5; }

double CostModel::deviation_s(const Plan&, Rank, const Op&, int) const { return 0; }

Link CostModel::link(const Plan&) const { return {.bytes_per_s = std::numeric_limits<double>::infinity()}; }

DeviceOverhead CostModel::device_overhead(const Plan&) const { return {}; }

std::string CostModel::assumption(const Plan&) const { return ""; }

bool has_layers(const Calibration& calibration, const ModelSpec& model, const Case& spec) {
  return all_layers(calibration, model, spec, [](const std::vector<LayerTiming>&) { return true; });
}

bool has_split_layers(const Calibration& calibration, const ModelSpec& model, const Case& spec) {
  return all_layers(calibration, model, spec, [](const std::vector<LayerTiming>& timings) {
    return std::ranges::any_of(timings, [](const LayerTiming& t) { return t.split.has_value(); });
  });
}

std::vector<double> layer_seconds(const Calibration* calibration, const MachineInfo& machine, const ModelSpec& model,
                                  const Case& spec, int samples) {
  const Plan plan = single_layers(spec, model, samples);
  const auto cost = calibration && has_layers(*calibration, model, spec) ? calibrated_costs(*calibration, model)
                                                                         : data_sheet_costs(machine, model);
  std::vector<double> seconds;
  for (SegmentId s; s.value < static_cast<int>(plan.segments.size()); ++s) {
    seconds.push_back(
        cost->seconds(plan, Rank(0), forward(s, MicroBatchId(0), StepId(0), VersionId(0)), competing_ranks(spec)) +
        cost->seconds(plan, Rank(0), backward(s, MicroBatchId(0), StepId(0), VersionId(0)), competing_ranks(spec)));
  }
  return seconds;
}

}  // namespace parabench
