#include "analytic/calibration/measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analytic/calibration/rising.h"
#include "analytic/calibration/scope.h"
#include "analytic/costs/interpolate.h"
#include "base/called.h"
#include "base/case_text.h"
#include "base/error.h"

namespace parabench::analytic {
namespace {

Error unmeasured(std::string_view what, std::string_view expected, bool between_hosts = false) {
  return environment_error("calibration", what, expected,
                           between_hosts ? "measure it where a launcher puts ranks on several hosts: " +
                                               to_type("calibrate CASE --launcher LAUNCHER")
                                         : "measure it with: " + to_type("calibrate CASE"));
}

/// Value at `busy` from (busy ranks, value) neighbours; fewer than the fewest measured cost as those.
double between(int busy, int below, double low, int above, double high) {
  return above == below || busy <= below ? low : low + (high - low) * (busy - below) / (above - below);
}

/// More ranks than were measured cost as those.
double at_busy(const RatesByBusy& rates, int ranks) {
  auto above = rates.lower_bound(ranks);
  if (above == rates.end()) --above;
  auto below = above;
  if (above->first > ranks && above != rates.begin()) --below;
  return between(ranks, below->first, below->second, above->first, above->second);
}

/// Where the model has the segment of several layers that has this signature.
std::vector<LayerRange> ranges_of(const std::string& signature, const Sizes& sizes) {
  std::vector<LayerRange> found;
  if (signature.find(segment_joint) == std::string::npos) return found;
  const auto layers = static_cast<int>(sizes.model().layers.size());
  for (int first = 0; first < layers; ++first) {
    const std::string end = layer_key("", first == 0, {}, 1).layer;
    std::string_view rest = signature;
    for (int l = first; l < layers && rest.starts_with(sizes.signature(l)); ++l) {
      rest.remove_prefix(sizes.signature(l).size());
      if (rest == end && l > first) found.push_back({first, l - first + 1});
      if (!rest.starts_with(segment_joint)) break;
      rest.remove_prefix(segment_joint.size());
    }
  }
  return found;
}

using Curves = std::map<RankCountKey, Curve>;

std::optional<Curve> find_curve(const Curves& curves, const RankCountKey& key) {
  const auto found = curves.find(key);
  return found != curves.end() ? std::optional(rising(found->second)) : std::nullopt;
}

std::optional<Curve> find_message_curve(const Calibration& calibration, const Case& spec, bool between_hosts) {
  const Curves& curves = calibration.point_to_point;
  const RankCountKey key = message_key(spec, between_hosts);
  if (auto exact = find_curve(curves, key)) return exact;
  const bool emulated = spec.device == DeviceKind::emulated;
  const auto any = std::ranges::find_if(curves, [&](const auto& entry) {
    return entry.first.device == key.device && entry.first.hosts == key.hosts &&
           (entry.first.comm == key.comm || emulated);
  });
  return any != curves.end() ? std::optional(rising(any->second)) : std::nullopt;
}

}  // namespace

MeasuredLayers::MeasuredLayers(const Calibration& calibration, const Sizes& sizes) {
  for (int l = 0; l < std::ssize(sizes.model().layers); ++l) {
    layers_.push_back(measured_as(layer_key(sizes.signature(l), l == 0, {}, 1).layer, calibration));
    layers_.back().name = sizes.model().layers[l].name;
  }
  for (const auto& [key, timings] : calibration.layers)
    for (const LayerRange& range : ranges_of(key.layer, sizes))
      if (!segments_.contains(range)) segments_.emplace(range, measured_as(key.layer, calibration));
}

MeasuredLayers::Layer MeasuredLayers::measured_as(const std::string& signature, const Calibration& calibration) {
  Layer layer{.signature = signature};
  for (auto at = calibration.layers.lower_bound({.layer = signature, .busy_ranks = 0});
       at != calibration.layers.end() && at->first.layer == signature; ++at) {
    const LayerKey& key = at->first;
    for (const Measured what : all_measured) {
      std::vector<LayerTiming> timings = at->second;
      std::erase_if(timings, [what](const LayerTiming& t) { return !tells(t, what); });
      if (timings.empty()) continue;
      layer.of[static_cast<int>(what)].push_back({key.device, key.precision, key.layout, key.threads, key.busy_ranks,
                                                  key.graph, key.input, std::move(timings)});
    }
  }
  return layer;
}

MeasuredLayers::Neighbours MeasuredLayers::neighbours(const Layer& layer, bool first, const Case& spec, int busy_ranks,
                                                      Measured what) {
  const InputKind input = first ? spec.input : InputKind::host;
  Neighbours found;
  for (const Timings& timings : layer.of[static_cast<int>(what)]) {
    if (timings.device != measured_device(spec) || timings.precision != spec.precision ||
        timings.layout != spec.layout || timings.threads != threads_of_operation(spec) || timings.graph != spec.graph ||
        timings.input != input)
      continue;
    if (timings.busy_ranks <= busy_ranks || !found.below) found.below = &timings;
    if (timings.busy_ranks >= busy_ranks && !found.above) found.above = &timings;
  }
  return found;
}

double MeasuredLayers::between_neighbours(const Neighbours& found, int samples, int busy_ranks,
                                          const LayerFigure& figure) {
  const auto at_samples = figure.counted ? counted_at : timed_at;
  return between(busy_ranks, found.below->busy_ranks, at_samples(found.below->by_samples, samples, figure.of),
                 found.above->busy_ranks, at_samples(found.above->by_samples, samples, figure.of));
}

double MeasuredLayers::at(const Case& spec, int layer, int samples, int busy_ranks, const LayerFigure& figure) const {
  const Layer& known = layers_[layer];
  const Neighbours found = neighbours(known, layer == 0, spec, busy_ranks, figure.measured);
  if (found.above) return between_neighbours(found, samples, busy_ranks, figure);
  throw unmeasured(
      fmt::format("layer {} ({}) never measured with device:{}, precision:{}, layout:{}, threads:{}, graph:{}, "
                  "input:{}, {} busy ranks or more",
                  known.name, known.signature, to_text(measured_device(spec)), to_text(spec.precision),
                  to_text(spec.layout), threads_of_operation(spec), spec.graph ? "on" : "off", to_text(spec.input),
                  busy_ranks),
      "a measurement under the case's keys");
}

bool MeasuredLayers::has(const Case& spec, int layer, int busy_ranks, Measured what) const {
  return neighbours(layers_[layer], layer == 0, spec, busy_ranks, what).above != nullptr;
}

std::optional<double> MeasuredLayers::of_segment(const Case& spec, const LayerRange& layers, int samples,
                                                 int busy_ranks, const LayerFigure& figure) const {
  const auto known = segments_.find(layers);
  if (known == segments_.end()) return std::nullopt;
  const Neighbours found = neighbours(known->second, layers.first == 0, spec, busy_ranks, figure.measured);
  if (!found.above) return std::nullopt;
  for (const Timings* timings : {found.below, found.above}) {
    const std::vector<LayerTiming>& points = timings->by_samples;
    if (samples < points.front().samples || samples > points.back().samples) return std::nullopt;
  }
  return between_neighbours(found, samples, busy_ranks, figure);
}

Curve reduction_curve(const Calibration& calibration, const Case& spec, const GroupShape& shape) {
  if (auto known = find_reduction_curve(calibration, spec, shape)) return *std::move(known);
  const RankCountKey key = reduction_key(spec, shape);
  throw unmeasured(
      fmt::format("no all-reduce curve of {} over {} with device:{}", to_text(shape), key.comm, to_text(key.device)),
      "a curve measured with as many ranks on as many hosts", shape.hosts > 1);
}

std::optional<Curve> find_reduction_curve(const Calibration& calibration, const Case& spec, const GroupShape& shape) {
  return find_curve(calibration.all_reduce, reduction_key(spec, shape));
}

std::optional<Curve> find_share_curve(const Calibration& calibration, const Case& spec, plan::OpKind collective,
                                      const GroupShape& shape) {
  const auto kept = share_curves(collective);
  return kept ? find_curve(calibration.*kept, reduction_key(spec, shape)) : std::nullopt;
}

std::optional<GroupShape> similar_shape(const Calibration& calibration, const Case& spec, const GroupShape& shape) {
  const auto is_even = [](const GroupShape& s) { return s.hosts > 1 && s.ranks == s.hosts * s.most; };
  std::optional<GroupShape> similar;
  if (!is_even(shape)) return similar;
  const RankCountKey wanted = reduction_key(spec, shape);
  for (const auto& [key, curve] : calibration.all_reduce) {
    const GroupShape other{key.ranks, key.hosts, key.most};
    if (key.comm != wanted.comm || key.device != wanted.device || !is_even(other) || other.most != shape.most) continue;
    if (!similar || other.hosts > similar->hosts) similar = other;
  }
  return similar;
}

Curve message_curve(const Calibration& calibration, const Case& spec, bool between_hosts) {
  if (auto known = find_message_curve(calibration, spec, between_hosts)) return *std::move(known);
  throw unmeasured(fmt::format("no point-to-point curve {} among {} ranks over {} with device:{}",
                               between_hosts ? "between hosts" : "within a host", spec.np, to_text(spec.comm),
                               to_text(measured_device(spec))),
                   "messages measured between such ranks", between_hosts);
}

Curve slowest_message_curve(const Calibration& calibration, const plan::Plan& plan) {
  const bool several = host_count(plan.placement) > 1;
  auto between = several ? find_message_curve(calibration, plan.spec, true) : std::nullopt;
  return between ? *std::move(between) : message_curve(calibration, plan.spec, false);
}

double update_rate(const Calibration& calibration, const Case& spec, int busy_ranks) {
  const UpdateKey key = update_key(spec);
  const auto known = calibration.update_s_per_parameter.find(key);
  if (known == calibration.update_s_per_parameter.end())
    throw unmeasured(fmt::format("no update rate of device:{}, optimizer:{}, threads:{}, {} bytes a parameter",
                                 to_text(key.device), key.optimizer, key.threads, key.parameter_bytes),
                     "update seconds per parameter");
  return at_busy(known->second, busy_ranks);
}

double load_rate(const Calibration& calibration, const Case& spec, int loading_ranks) {
  const auto known = calibration.load_s_per_sample.find(load_key(spec));
  return known == calibration.load_s_per_sample.end() ? 0 : at_busy(known->second, loading_ranks);
}

}  // namespace parabench::analytic
