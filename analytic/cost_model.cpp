#include "analytic/cost_model.h"

#include <algorithm>
#include <limits>

namespace parabench {
namespace {

/// Whether the timings of every layer, with one rank busy and with all, are there and accepted.
bool all_layers(const Calibration& calibration, const ModelSpec& model, const Case& spec,
                bool (*accepts)(const std::vector<LayerTiming>&)) {
  const std::vector<Shape> in = shapes(model);
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    for (const int busy : {1, spec.np}) {
      const auto found = calibration.layers.find(layer_key(model.layers[l], in[l], l == 0, spec, busy));
      if (found == calibration.layers.end() || !accepts(found->second)) return false;
    }
  }
  return true;
}

}  // namespace

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
  Plan plan{.spec = spec, .pieces = {{samples}}, .ranks = std::vector<RankProgram>(1)};
  plan.ranks[0].holds = {{StageId(0), 0}};
  for (int l = 0; l < static_cast<int>(model.layers.size()); ++l) {
    plan.segments.push_back({.first_layer = l, .layers = 1, .stage = StageId(0)});
  }
  const auto cost = calibration && has_layers(*calibration, model, spec) ? calibrated_costs(*calibration, model)
                                                                         : data_sheet_costs(machine, model);
  std::vector<double> seconds;
  for (SegmentId s; s.value < static_cast<int>(plan.segments.size()); ++s) {
    seconds.push_back(cost->seconds(plan, Rank(0), forward(s, MicroBatchId(0), 0, 0), spec.np) +
                      cost->seconds(plan, Rank(0), backward(s, MicroBatchId(0), 0, 0), spec.np));
  }
  return seconds;
}

}  // namespace parabench
