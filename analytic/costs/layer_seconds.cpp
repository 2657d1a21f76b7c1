#include "analytic/costs/layer_seconds.h"

#include <algorithm>
#include <functional>
#include <initializer_list>

#include "analytic/calibration/measurements.h"
#include "analytic/calibration/profile.h"
#include "analytic/calibration/scope.h"
#include "analytic/costs/spread_times.h"

namespace parabench::analytic {
namespace {

/// Whether any measurement of every layer, with each of these numbers of busy ranks, tells that.
bool all_layers_tell(Measured what, const Calibration& calibration, const Sizes& sizes, const Case& spec,
                     std::initializer_list<int> busy_ranks) {
  for (int l = 0; l < std::ssize(sizes.model().layers); ++l) {
    for (const int busy : busy_ranks) {
      const auto found = calibration.layers.find(layer_key(sizes.signature(l), l == 0, spec, busy));
      if (found == calibration.layers.end()) return false;
      if (std::ranges::none_of(found->second, [&](const LayerTiming& t) { return tells(t, what); })) return false;
    }
  }
  return true;
}

std::vector<double> pass_seconds(const TimeModel& time, const plan::Plan& layers, plan::OpKind kind,
                                 bool accumulates = false) {
  const int busy = competing_ranks(layers.spec, layers.placement);
  std::vector<double> seconds;
  for (SegmentId s; s.value < std::ssize(layers.segments); ++s) {
    plan::Op pass = plan::pass(kind, s, MicroBatchId(0), StepId(0), VersionId(0));
    pass.accumulates = accumulates;
    seconds.push_back(time.seconds(layers, Rank(0), pass, busy));
  }
  return seconds;
}

}  // namespace

bool has_layers(const Calibration& calibration, const Sizes& sizes, const Case& spec, const Placement& placement) {
  return all_layers_tell(Measured::pass, calibration, sizes, spec, {1, competing_ranks(spec, placement)});
}

bool has_split_layers(const Calibration& calibration, const Sizes& sizes, const Case& spec,
                      const Placement& placement) {
  return all_layers_tell(Measured::halves, calibration, sizes, spec, {1, competing_ranks(spec, placement)});
}

bool has_pass_bytes(const Calibration& calibration, const Sizes& sizes, const plan::Plan& plan) {
  const CalibrationScope scope = calibration_scope(plan);
  std::vector<Measured> needed;
  if (scope.split_backwards) needed.push_back(Measured::halves_bytes);
  if (scope.adds_gradients) needed.push_back(scope.split_backwards ? Measured::adding_weights : Measured::adding);
  return std::ranges::all_of(needed,
                             [&](Measured what) { return all_layers_tell(what, calibration, sizes, plan.spec, {1}); });
}

std::vector<double> layer_forward_seconds(const TimeModel& time, const plan::Plan& layers) {
  return pass_seconds(time, layers, plan::OpKind::forward);
}

std::vector<double> layer_seconds(const TimeModel& time, const plan::Plan& layers) {
  std::vector<double> seconds = layer_forward_seconds(time, layers);
  const std::vector<double> backward = pass_seconds(time, layers, plan::OpKind::backward);
  std::ranges::transform(seconds, backward, seconds.begin(), std::plus());
  return seconds;
}

std::vector<double> layer_adding_seconds(const TimeModel& time, const plan::Plan& layers) {
  std::vector<double> seconds = pass_seconds(time, layers, plan::OpKind::backward, true);
  const std::vector<double> starting = pass_seconds(time, layers, plan::OpKind::backward);
  std::ranges::transform(seconds, starting, seconds.begin(), std::minus());
  return seconds;
}

std::vector<double> layer_update_seconds(const TimeModel& time, const plan::Plan& layers) {
  const int busy = competing_ranks(layers.spec, layers.placement);
  const int sharers = layers.spec.zero > 0 ? layers.spec.dp : 1;
  std::vector<double> seconds;
  for (SegmentId s; s.value < std::ssize(layers.segments); ++s)
    seconds.push_back(time.seconds(layers, Rank(0), plan::update(s, 1, StepId(0), VersionId(0)), busy) / sharers);
  return seconds;
}

std::vector<double> layer_seconds(const Calibration* calibration, const MachineInfo& machine, const Sizes& sizes,
                                  const Case& spec, int samples) {
  const bool calibrated = calibration && has_layers(*calibration, sizes, spec);
  const Costs costs = calibrated ? calibrated_costs(*calibration, sizes) : data_sheet_costs_of(spec, machine, sizes);
  return layer_seconds(*costs.time, single_layers(spec, sizes.model(), samples));
}

}  // namespace parabench::analytic
