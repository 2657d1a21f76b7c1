#include "analytic/calibration/calibration.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "analytic/calibration/calibration_json.h"
#include "base/case_text.h"
#include "base/error.h"
#include "base/file.h"

namespace parabench::analytic {
namespace {

void replace(CurvePoint& known, const CurvePoint& newer) { known = newer; }
void replace(LayerTiming& known, LayerTiming newer) {
  if (!newer.split) newer.split = known.split;
  known = newer;
}

template <class Row, class Key>
void merge_rows(std::vector<Row>& into, const std::vector<Row>& newer, Key Row::*key) {
  for (const Row& row : newer) {
    const auto at = std::ranges::lower_bound(into, row.*key, {}, key);
    if (at != into.end() && (*at).*key == row.*key) {
      replace(*at, row);
    } else {
      into.insert(at, row);
    }
  }
}

template <class Key>
void merge_rates(std::map<Key, RatesByBusy>& into, const std::map<Key, RatesByBusy>& newer) {
  for (const auto& [key, values] : newer) {
    for (const auto& [busy, value] : values) into[key][busy] = value;
  }
}

/// Of launches that measured none of the layers nothing is known any more.
void drop_unused_launches(Calibration& calibration) {
  std::vector<std::optional<int>> places(calibration.launches.size());
  for (const auto& [key, timings] : calibration.layers)
    for (const LayerTiming& timing : timings)
      if (timing.launch) places.at(*timing.launch) = 0;
  std::vector<CalibrationLaunch> used;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!places[i]) continue;
    places[i] = static_cast<int>(used.size());
    used.push_back(std::move(calibration.launches[i]));
  }
  calibration.launches = std::move(used);
  for (auto& [key, timings] : calibration.layers)
    for (LayerTiming& timing : timings)
      if (timing.launch) timing.launch = places[*timing.launch];
}

}  // namespace

LayerKey layer_key(const models::LayerSpec& layer, const TensorSpec& in, bool first, const Case& spec, int busy_ranks) {
  return layer_key(models::signature(layer, in), first, spec, busy_ranks);
}

LayerKey layer_key(const std::string& signature, bool first, const Case& spec, int busy_ranks) {
  return {.layer = signature + (first ? "+first" : ""),
          .precision = spec.precision,
          .layout = spec.layout,
          .threads = threads_of_operation(spec),
          .busy_ranks = busy_ranks,
          .device = measured_device(spec),
          .graph = spec.graph,
          .input = first ? spec.input : InputKind::host};
}

RankCountKey reduction_key(const Case& spec, const GroupShape& shape) {
  std::string comm(to_text(spec.comm));
  if (spec.reduce != ReduceKind::automatic) (comm += " reduce:") += to_text(spec.reduce);
  return {std::move(comm), shape.ranks, measured_device(spec), shape.hosts, shape.most};
}

RankCountKey message_key(const Case& spec, bool between_hosts) {
  const int hosts = between_hosts ? 2 : 1, most = between_hosts ? 1 : spec.np;
  return {std::string(to_text(spec.comm)), spec.np, measured_device(spec), hosts, most};
}

UpdateKey update_key(const Case& spec) { return {measured_device(spec), spec.optimizer.name}; }

DeviceKind measured_device(const Case& spec) {
  switch (spec.device) {
    case DeviceKind::cpu:
    case DeviceKind::emulated: return DeviceKind::cpu;
    case DeviceKind::cuda: return DeviceKind::cuda;
  }
  return DeviceKind::cpu;
}

Calibration read_calibration(const std::string& path) {
  return calibration_from_json(read_json(path), path + ": calibration");
}

void write_calibration(const Calibration& calibration, const std::string& path) {
  std::error_code error;
  if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty()) {
    std::filesystem::create_directories(folder, error);
    if (error) throw environment_error("calibration file", path, "a folder that can be made", error.message());
  }
  write_atomically(path, to_json(calibration).dump(1) + '\n');
}

void set_launch(Calibration& calibration, CalibrationLaunch launch) {
  calibration.date = launch.date;
  calibration.launches = {std::move(launch)};
  for (auto& [key, timings] : calibration.layers)
    for (LayerTiming& timing : timings) timing.launch = 0;
}

void merge(Calibration& into, const Calibration& newer) {
  std::vector<GpuInfo> known = std::move(into.machine.gpus);
  into.machine = newer.machine;
  if (into.machine.gpus.empty()) into.machine.gpus = std::move(known);
  into.date = std::max(into.date, newer.date);
  const auto known_launches = static_cast<int>(into.launches.size());
  into.launches.insert(into.launches.end(), newer.launches.begin(), newer.launches.end());
  for (auto [key, timings] : newer.layers) {
    for (LayerTiming& timing : timings)
      if (timing.launch) *timing.launch += known_launches;
    merge_rows(into.layers[key], timings, &LayerTiming::samples);
  }
  drop_unused_launches(into);
  for (const auto& [key, curve] : newer.all_reduce) merge_rows(into.all_reduce[key], curve, &CurvePoint::bytes);
  for (const auto& [key, curve] : newer.point_to_point) {
    merge_rows(into.point_to_point[key], curve, &CurvePoint::bytes);
  }
  merge_rates(into.update_s_per_parameter, newer.update_s_per_parameter);
  merge_rates(into.copy_bytes_per_s, newer.copy_bytes_per_s);
  for (const auto& [device, seconds] : newer.step_overhead_s) {
    if (seconds > 0) into.step_overhead_s[device] = seconds;
  }
  if (newer.launch_floor_s > 0) into.launch_floor_s = newer.launch_floor_s;
  if (newer.context_bytes > 0) into.context_bytes = newer.context_bytes;
  for (const auto& [comm, bytes] : newer.communicator_bytes) into.communicator_bytes[comm] = bytes;
}

}  // namespace parabench::analytic
