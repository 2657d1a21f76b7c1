#include "analytic/costs/layer_seconds.h"

#include <algorithm>

#include "analytic/calibration/profile.h"
#include "analytic/costs/costs.h"

namespace parabench::analytic {
namespace {

/// Ranks that can get into each other's way.
int competing_ranks(const Case& spec) { return spec.device == DeviceKind::emulated ? 1 : spec.np; }

/// Whether the timings of every layer, with one rank busy and with all, are there and accepted.
bool all_layers(const Calibration& calibration, const models::ModelSpec& model, const Case& spec,
                bool (*accepts)(const std::vector<LayerTiming>&)) {
  const std::vector<TensorSpec> in = models::boundaries(model);
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    for (const int busy : {1, competing_ranks(spec)}) {
      const auto found = calibration.layers.find(layer_key(model.layers[l], in[l], l == 0, spec, busy));
      if (found == calibration.layers.end() || !accepts(found->second)) return false;
    }
  }
  return true;
}

}  // namespace

bool has_layers(const Calibration& calibration, const models::ModelSpec& model, const Case& spec) {
  return all_layers(calibration, model, spec, [](const std::vector<LayerTiming>&) { return true; });
}

bool has_split_layers(const Calibration& calibration, const models::ModelSpec& model, const Case& spec) {
  return all_layers(calibration, model, spec, [](const std::vector<LayerTiming>& timings) {
    return std::ranges::any_of(timings, [](const LayerTiming& t) { return t.split.has_value(); });
  });
}

std::vector<double> layer_seconds(const Calibration* calibration, const MachineInfo& machine,
                                  const models::ModelSpec& model, const Case& spec, int samples) {
  const plan::Plan plan = single_layers(spec, model, samples);
  const bool calibrated = calibration && has_layers(*calibration, model, spec);
  const Costs costs = calibrated ? calibrated_costs(*calibration, model) : data_sheet_costs(machine, model);
  std::vector<double> seconds;
  for (SegmentId s; s.value < static_cast<int>(plan.segments.size()); ++s) {
    seconds.push_back(costs.time->seconds(plan, Rank(0), plan::forward(s, MicroBatchId(0), StepId(0), VersionId(0)),
                                          competing_ranks(spec)) +
                      costs.time->seconds(plan, Rank(0), plan::backward(s, MicroBatchId(0), StepId(0), VersionId(0)),
                                          competing_ranks(spec)));
  }
  return seconds;
}

}  // namespace parabench::analytic
