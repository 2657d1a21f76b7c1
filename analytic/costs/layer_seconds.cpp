#include "analytic/costs/layer_seconds.h"

#include <algorithm>

#include "analytic/calibration/profile.h"
#include "analytic/costs/spread_times.h"

namespace parabench::analytic {
namespace {

/// Ranks that can get into each other's way.
int competing_ranks(const Case& spec, const Placement& placement) {
  if (spec.device == DeviceKind::emulated) return 1;
  return ranks_on_fullest_host(placement, spec.np);
}

/// Whether the timings of every layer, with one rank busy and with all, are there and accepted.
bool all_layers(const Calibration& calibration, const Sizes& sizes, const Case& spec, const Placement& placement,
                bool (*accepts)(const std::vector<LayerTiming>&)) {
  for (int l = 0; l < std::ssize(sizes.model().layers); ++l) {
    for (const int busy : {1, competing_ranks(spec, placement)}) {
      const auto found = calibration.layers.find(layer_key(sizes.signature(l), l == 0, spec, busy));
      if (found == calibration.layers.end() || !accepts(found->second)) return false;
    }
  }
  return true;
}

}  // namespace

bool has_layers(const Calibration& calibration, const Sizes& sizes, const Case& spec, const Placement& placement) {
  return all_layers(calibration, sizes, spec, placement, [](const std::vector<LayerTiming>&) { return true; });
}

bool has_split_layers(const Calibration& calibration, const Sizes& sizes, const Case& spec,
                      const Placement& placement) {
  return all_layers(calibration, sizes, spec, placement, [](const std::vector<LayerTiming>& timings) {
    return std::ranges::any_of(timings, [](const LayerTiming& t) { return t.split.has_value(); });
  });
}

std::vector<double> layer_seconds(const TimeModel& time, const plan::Plan& layers) {
  const int busy = competing_ranks(layers.spec, layers.placement);
  std::vector<double> seconds;
  for (SegmentId s; s.value < std::ssize(layers.segments); ++s) {
    seconds.push_back(time.seconds(layers, Rank(0), plan::forward(s, MicroBatchId(0), StepId(0), VersionId(0)), busy) +
                      time.seconds(layers, Rank(0), plan::backward(s, MicroBatchId(0), StepId(0), VersionId(0)), busy));
  }
  return seconds;
}

std::vector<double> layer_seconds(const Calibration* calibration, const MachineInfo& machine, const Sizes& sizes,
                                  const Case& spec, int samples) {
  const bool calibrated = calibration && has_layers(*calibration, sizes, spec);
  const Costs costs = calibrated ? calibrated_costs(*calibration, sizes) : data_sheet_costs_of(spec, machine, sizes);
  return layer_seconds(*costs.time, single_layers(spec, sizes.model(), samples));
}

}  // namespace parabench::analytic
