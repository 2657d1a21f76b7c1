#include "analytic/calibration/combine.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "analytic/calibration/measured.h"
#include "base/statistics.h"

namespace parabench::analytic {
namespace {

using Timings = std::vector<LayerTiming>;

/// Of bytes the nearest whole number.
template <class Value>
Value median_as(const std::vector<double>& values) {
  if constexpr (std::is_integral_v<Value>) {
    return static_cast<Value>(std::llround(median(values)));
  } else {
    return median(values);
  }
}

double median_of(const Timings& launches, double LayerTiming::*seconds) {
  std::vector<double> values;
  for (const LayerTiming& launch : launches) values.push_back(launch.*seconds);
  return median(values);
}

/// 0 was not measured.
std::int64_t median_of(const Timings& launches, std::int64_t LayerTiming::*bytes) {
  std::vector<double> values;
  for (const LayerTiming& launch : launches)
    if (launch.*bytes > 0) values.push_back(static_cast<double>(launch.*bytes));
  return values.empty() ? 0 : median_as<std::int64_t>(values);
}

/// Of those that measured it.
template <class Timing>
std::optional<std::int64_t> median_of(const std::vector<Timing>& launches, std::optional<std::int64_t> Timing::*bytes) {
  std::vector<double> values;
  for (const Timing& launch : launches)
    if (launch.*bytes) values.push_back(static_cast<double>(*(launch.*bytes)));
  return values.empty() ? std::nullopt : std::optional(median_as<std::int64_t>(values));
}

std::optional<SplitTiming> combined_splits(const Timings& launches) {
  std::vector<SplitTiming> splits;
  for (const LayerTiming& launch : launches)
    if (launch.split) splits.push_back(*launch.split);
  if (splits.empty()) return std::nullopt;
  const auto median_over = [&](double SplitTiming::*seconds) {
    std::vector<double> values;
    for (const SplitTiming& split : splits) values.push_back(split.*seconds);
    return median(values);
  };
  return SplitTiming{.input_s = median_over(&SplitTiming::input_s),
                     .weight_s = median_over(&SplitTiming::weight_s),
                     .input_mad_s = median_over(&SplitTiming::input_mad_s),
                     .weight_mad_s = median_over(&SplitTiming::weight_mad_s),
                     .input_peak_bytes = median_of(splits, &SplitTiming::input_peak_bytes),
                     .weight_peak_bytes = median_of(splits, &SplitTiming::weight_peak_bytes),
                     .adding_weight_peak_bytes = median_of(splits, &SplitTiming::adding_weight_peak_bytes)};
}

LayerTiming combined_timings(const Timings& launches) {
  return {.samples = launches.front().samples,
          .forward_s = median_of(launches, &LayerTiming::forward_s),
          .backward_s = median_of(launches, &LayerTiming::backward_s),
          .forward_mad_s = median_of(launches, &LayerTiming::forward_mad_s),
          .backward_mad_s = median_of(launches, &LayerTiming::backward_mad_s),
          .saved_bytes = median_of(launches, &LayerTiming::saved_bytes),
          .forward_peak_bytes = median_of(launches, &LayerTiming::forward_peak_bytes),
          .backward_peak_bytes = median_of(launches, &LayerTiming::backward_peak_bytes),
          .adding_peak_bytes = median_of(launches, &LayerTiming::adding_peak_bytes),
          .split = combined_splits(launches)};
}

void combine_layers(Calibration& into) {
  std::map<LayerKey, std::map<int, Timings>> all;
  for (const Calibration& launch : into.launches)
    for (const auto& [key, timings] : launch.layers)
      for (const LayerTiming& timing : timings) all[key][timing.samples].push_back(timing);
  for (const auto& [key, by_samples] : all)
    for (const auto& [samples, timings] : by_samples) into.layers[key].push_back(combined_timings(timings));
}

void combine_curves(Calibration& into, std::map<RankCountKey, Curve> Calibration::*curves) {
  struct Seconds {
    std::vector<double> alone, loaded, lost;
  };
  std::map<RankCountKey, std::map<std::int64_t, Seconds>> all;
  for (const Calibration& launch : into.launches)
    for (const auto& [key, curve] : launch.*curves)
      for (const CurvePoint& point : curve) {
        all[key][point.bytes].alone.push_back(point.seconds);
        if (point.loaded_s > 0) all[key][point.bytes].loaded.push_back(point.loaded_s);
        if (point.lost_share) all[key][point.bytes].lost.push_back(*point.lost_share);
      }
  for (const auto& [key, points] : all)
    for (const auto& [bytes, of] : points)
      (into.*curves)[key].push_back({bytes, median(of.alone), of.loaded.empty() ? 0 : median(of.loaded),
                                     of.lost.empty() ? std::nullopt : std::optional(median(of.lost))});
}

template <class Key>
void combine_rates(Calibration& into, std::map<Key, RatesByBusy> Calibration::*rates) {
  std::map<Key, std::map<int, std::vector<double>>> all;
  for (const Calibration& launch : into.launches)
    for (const auto& [key, by_busy] : launch.*rates)
      for (const auto& [busy, rate] : by_busy) all[key][busy].push_back(rate);
  for (const auto& [key, by_busy] : all)
    for (const auto& [busy, values] : by_busy) (into.*rates)[key][busy] = median(values);
}

template <class Key, class Value>
void combine_entries(Calibration& into, std::map<Key, Value> Calibration::*entries) {
  std::map<Key, std::vector<double>> all;
  for (const Calibration& launch : into.launches)
    for (const auto& [key, value] : launch.*entries) all[key].push_back(static_cast<double>(value));
  for (const auto& [key, values] : all) (into.*entries)[key] = median_as<Value>(values);
}

/// 0 was not measured.
template <class Value>
void combine_figure(Calibration& into, Value Calibration::*figure) {
  std::vector<double> values;
  for (const Calibration& launch : into.launches)
    if (launch.*figure > 0) values.push_back(static_cast<double>(launch.*figure));
  if (!values.empty()) into.*figure = median_as<Value>(values);
}

/// What one value is of.
using ValueKey = std::variant<std::tuple<LayerKey, int, Measured>, std::tuple<std::string, RankCountKey, std::int64_t>,
                              std::pair<UpdateKey, int>, std::pair<DeviceKind, int>, std::pair<LoadKey, int>,
                              DeviceKind, std::string>;

std::vector<ValueKey> values_of(const Calibration& launch) {
  std::vector<ValueKey> values;
  for (const auto& [key, timings] : launch.layers)
    for (const LayerTiming& timing : timings)
      for (const Measured what : all_measured)
        if (tells(timing, what)) values.emplace_back(std::tuple(key, timing.samples, what));
  const auto add_curves = [&](const std::string& kind, const std::map<RankCountKey, Curve>& curves) {
    for (const auto& [key, curve] : curves)
      for (const CurvePoint& point : curve) values.emplace_back(std::tuple(kind, key, point.bytes));
  };
  add_curves("all_reduce", launch.all_reduce);
  add_curves("reduce_scatter", launch.reduce_scatter);
  add_curves("all_gather", launch.all_gather);
  add_curves("point_to_point", launch.point_to_point);
  const auto add_rates = [&](const auto& keys) {
    for (const auto& [key, rates] : keys)
      for (const auto& [busy, rate] : rates) values.emplace_back(std::pair(key, busy));
  };
  add_rates(launch.update_s_per_parameter);
  add_rates(launch.copy_bytes_per_s);
  add_rates(launch.load_s_per_sample);
  for (const auto& [device, seconds] : launch.step_overhead_s) values.emplace_back(device);
  for (const auto& [comm, bytes] : launch.communicator_bytes) values.emplace_back("communicator_bytes " + comm);
  if (launch.launch_floor_s > 0) values.emplace_back("launch_floor_s");
  if (launch.context_bytes > 0) values.emplace_back("context_bytes");
  return values;
}

MachineInfo machine_of(const std::vector<Calibration>& launches) {
  MachineInfo machine = launches.back().machine;
  for (auto launch = launches.rbegin(); machine.gpus.empty() && launch != launches.rend(); ++launch)
    machine.gpus = launch->machine.gpus;
  return machine;
}

}  // namespace

Calibration combined(std::vector<Calibration> launches) {
  if (launches.size() == 1) return std::move(launches.front());
  std::ranges::stable_sort(launches, {}, &Calibration::date);
  Calibration all;
  all.machine = machine_of(launches);
  all.date = launches.back().date;
  all.launches = std::move(launches);
  combine_layers(all);
  combine_curves(all, &Calibration::all_reduce);
  combine_curves(all, &Calibration::reduce_scatter);
  combine_curves(all, &Calibration::all_gather);
  combine_curves(all, &Calibration::point_to_point);
  combine_rates(all, &Calibration::update_s_per_parameter);
  combine_rates(all, &Calibration::copy_bytes_per_s);
  combine_rates(all, &Calibration::load_s_per_sample);
  combine_entries(all, &Calibration::step_overhead_s);
  combine_entries(all, &Calibration::communicator_bytes);
  combine_figure(all, &Calibration::launch_floor_s);
  combine_figure(all, &Calibration::context_bytes);
  return all;
}

std::vector<Calibration> launches_of(Calibration calibration) {
  if (!calibration.launches.empty()) return std::move(calibration.launches);
  std::vector<Calibration> one;
  one.push_back(std::move(calibration));
  return one;
}

std::vector<std::string> merge(Calibration& into, const Calibration& newer) {
  std::vector<Calibration> launches = launches_of(std::move(into));
  std::ranges::move(launches_of(newer), std::back_inserter(launches));
  std::ranges::stable_sort(launches, {}, &Calibration::date);
  const MachineInfo machine = machine_of(launches);
  std::map<ValueKey, int> times;
  std::vector<Calibration> kept;
  std::vector<std::string> left_out;
  for (auto launch = launches.rbegin(); launch != launches.rend(); ++launch) {
    const std::vector<ValueKey> values = values_of(*launch);
    bool is_among_newest = false;
    for (const ValueKey& value : values) is_among_newest |= ++times[value] <= most_launches;
    if (is_among_newest) {
      kept.push_back(std::move(*launch));
    } else if (!values.empty()) {
      left_out.push_back(launch->date);
    }
  }
  std::ranges::reverse(kept);
  std::ranges::reverse(left_out);
  if (kept.empty()) kept.emplace_back();
  into = combined(std::move(kept));
  into.machine = machine;
  return left_out;
}

}  // namespace parabench::analytic
