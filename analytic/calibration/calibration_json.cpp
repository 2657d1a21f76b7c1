#include "analytic/calibration/calibration_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "analytic/calibration/combine.h"
#include "analytic/calibration/machine_json.h"
#include "base/called.h"
#include "base/canary_json.h"
#include "base/case_text.h"
#include "base/file_format.h"
#include "base/json_null.h"
#include "base/json_reader.h"
#include "parallelism/plan/state/state_layout.h"

namespace parabench::analytic {
namespace {

using nlohmann::json;

constexpr std::string_view format_name = "parabench calibration";
// 2: a backward starts the gradients; in 1 it added to zeroed ones. 2.1: GPUs. 2.2: backwards in two parts. 2.3:
// graphs. 2.4: resident input. 2.5: updates by optimizer. 2.6: launches with their canaries. 3: every launch whole,
// curves by hosts. 3.1: curves of reduce-scatters and all-gathers; resident memory of processes. 3.2: curves while
// ranks compute. 3.3: layers of ranks side by side as these take in the mean, no more as the slowest does; what
// computing loses to exchanges; loaders. 3.4: what the parts of backwards hold, and those that add to gradients. 3.5:
// updates by threads and bytes of a parameter; the software of a launch. 3.6: how much slower cores were at times of a
// launch. 3.7: what computing loses to exchanges, against what it does out of warm caches; before, less was told than
// it loses.
constexpr int schema_major = 3, merged_major = 2;
constexpr std::string_view schema_version = "3.7";

/// Files of schema 2.0 know the processor alone and name no device.
DeviceKind device_of(const JsonReader& row) { return row.find<DeviceKind>("device").value_or(DeviceKind::cpu); }

/// Sorts by `key` and refuses equal keys, which would make an interpolation divide by zero.
template <class Rows, class Key>
void sort_unique(Rows& rows, Key key, const JsonReader& reader) {
  std::ranges::sort(rows, {}, key);
  if (rows.empty()) throw reader.error("at least one entry");
  if (std::ranges::adjacent_find(rows, {}, key) != rows.end()) throw reader.error("no repeated entry");
}

using MeasuredBytes = std::optional<std::int64_t>;
constexpr std::array<std::pair<const char*, MeasuredBytes SplitTiming::*>, 3> split_peaks = {
    {{"input_peak_bytes", &SplitTiming::input_peak_bytes},
     {"weight_peak_bytes", &SplitTiming::weight_peak_bytes},
     {"adding_weight_peak_bytes", &SplitTiming::adding_weight_peak_bytes}}};

json timings_to_json(const std::vector<LayerTiming>& timings) {
  json rows = json::array();
  for (const LayerTiming& t : timings) {
    rows.push_back({{"samples", t.samples},
                    {"forward_s", t.forward_s},
                    {"backward_s", t.backward_s},
                    {"forward_mad_s", t.forward_mad_s},
                    {"backward_mad_s", t.backward_mad_s},
                    {"saved_bytes", t.saved_bytes},
                    {"forward_peak_bytes", t.forward_peak_bytes},
                    {"backward_peak_bytes", t.backward_peak_bytes}});
    if (t.adding_peak_bytes) rows.back()["adding_peak_bytes"] = *t.adding_peak_bytes;
    if (t.split) {
      rows.back()["split"] = {{"input_s", t.split->input_s},
                              {"weight_s", t.split->weight_s},
                              {"input_mad_s", t.split->input_mad_s},
                              {"weight_mad_s", t.split->weight_mad_s}};
      for (const auto& [key, bytes] : split_peaks)
        if ((*t.split).*bytes) rows.back()["split"][key] = *((*t.split).*bytes);
    }
  }
  return rows;
}

std::int64_t bytes(const JsonReader& row, std::string_view key) { return row.get_at_least(key, std::int64_t{0}); }
MeasuredBytes measured_bytes(const JsonReader& row, std::string_view key) {
  return row.has(key) ? std::optional(bytes(row, key)) : std::nullopt;
}

SplitTiming split_from_json(const JsonReader& split) {
  SplitTiming timing{.input_s = split.get_at_least("input_s", 0.0),
                     .weight_s = split.get_at_least("weight_s", 0.0),
                     .input_mad_s = split.get_at_least("input_mad_s", 0.0),
                     .weight_mad_s = split.get_at_least("weight_mad_s", 0.0)};
  for (const auto& [key, peak] : split_peaks) timing.*peak = measured_bytes(split, key);
  return timing;
}

std::vector<LayerTiming> timings_from_json(const JsonReader& rows) {
  std::vector<LayerTiming> timings;
  for (const JsonReader& row : rows.items()) {
    timings.push_back({.samples = row.get_at_least("samples", 1),
                       .forward_s = row.get_at_least("forward_s", 0.0),
                       .backward_s = row.get_at_least("backward_s", 0.0),
                       .forward_mad_s = row.get_at_least("forward_mad_s", 0.0),
                       .backward_mad_s = row.get_at_least("backward_mad_s", 0.0),
                       .saved_bytes = bytes(row, "saved_bytes"),
                       .forward_peak_bytes = bytes(row, "forward_peak_bytes"),
                       .backward_peak_bytes = bytes(row, "backward_peak_bytes"),
                       .adding_peak_bytes = measured_bytes(row, "adding_peak_bytes")});
    if (row.has("split")) timings.back().split = split_from_json(row.at("split"));
  }
  sort_unique(timings, &LayerTiming::samples, rows);
  return timings;
}

json curves_to_json(const std::map<RankCountKey, Curve>& curves) {
  json rows = json::array();
  for (const auto& [key, curve] : curves) {
    json points = json::array();
    for (const CurvePoint& p : curve) {
      points.push_back({{"bytes", p.bytes}, {"seconds", p.seconds}});
      if (p.loaded_s > 0) points.back()["loaded_s"] = p.loaded_s;
      if (p.lost_share) points.back()["lost_share"] = *p.lost_share;
    }
    rows.push_back({{"comm", key.comm},
                    {"ranks", key.ranks},
                    {"hosts", key.hosts},
                    {"most_on_a_host", key.most},
                    {"device", to_text(key.device)},
                    {"points", points}});
  }
  return rows;
}

std::map<RankCountKey, Curve> curves_from_json(const JsonReader& rows) {
  std::map<RankCountKey, Curve> curves;
  for (const JsonReader& row : rows.items()) {
    Curve curve;
    const JsonReader points = row.at("points");
    for (const JsonReader& p : points.items()) {
      curve.push_back({.bytes = bytes(p, "bytes"),
                       .seconds = p.get_at_least("seconds", 0.0),
                       .loaded_s = p.has("loaded_s") ? p.get_at_least("loaded_s", 0.0) : 0,
                       .lost_share = {}});
      if (!p.has("lost_share")) continue;
      curve.back().lost_share = p.get_at_least("lost_share", 0.0);
      if (*curve.back().lost_share > 1) throw p.at("lost_share").error("a share, at most 1");
    }
    sort_unique(curve, &CurvePoint::bytes, points);
    RankCountKey key{row.get<std::string>("comm"), row.get_at_least("ranks", 1), device_of(row)};
    if (row.has("hosts")) {  // unknown to files of schema 2.6, whose ranks are taken to have been on one
      key.hosts = row.get_at_least("hosts", 1);
      key.most = row.get_at_least("most_on_a_host", 1);
    }
    curves[key] = std::move(curve);
  }
  return curves;
}

json named(DeviceKind device) { return {{"device", to_text(device)}}; }
json named(const LoadKey& key) { return {{"dataset", key.dataset}, {"threads", key.threads}}; }
json named(const UpdateKey& key) {
  return {{"device", to_text(key.device)},
          {"optimizer", key.optimizer},
          {"threads", key.threads},
          {"parameter_bytes", key.parameter_bytes}};
}

void read_key(const JsonReader& row, DeviceKind& device) { device = device_of(row); }
void read_key(const JsonReader& row, LoadKey& key) {
  key = {row.get<std::string>("dataset"), row.get_at_least("threads", 1)};
}
void read_key(const JsonReader& row, UpdateKey& key) {
  key.device = device_of(row);
  // Files of schema 2.4 know one optimizer alone and do not name it, those of 3.4 leave the others to the layers.
  if (row.has("optimizer")) key.optimizer = row.get<std::string>("optimizer");
  if (row.has("threads")) key.threads = row.get_at_least("threads", 1);
  if (row.has("parameter_bytes")) key.parameter_bytes = row.get_at_least("parameter_bytes", 1);
}

template <class Key>
json rates_to_json(const std::map<Key, RatesByBusy>& keys) {
  json rows = json::array();
  for (const auto& [key, rates] : keys) {
    for (const auto& [busy, value] : rates) {
      rows.push_back(named(key));
      rows.back().update({{"busy_ranks", busy}, {"value", value}});
    }
  }
  return rows;
}

template <class Key>
void read_rates(const JsonReader& rows, std::map<Key, RatesByBusy>& rates) {
  for (const JsonReader& row : rows.items()) {
    Key key;
    read_key(row, key);
    rates[key][row.get_at_least("busy_ranks", 1)] = row.get_at_least("value", 0.0);
  }
}

double overhead_of(const Calibration& calibration, DeviceKind device) {
  const auto found = calibration.step_overhead_s.find(device);
  return found == calibration.step_overhead_s.end() ? 0 : found->second;
}

json gpu_figures_to_json(const Calibration& c) {
  return {{"step_overhead_s", overhead_of(c, DeviceKind::cuda)},
          {"launch_floor_s", c.launch_floor_s},
          {"context_bytes", c.context_bytes},
          {"communicator_bytes", c.communicator_bytes}};
}

void read_gpu_figures(const JsonReader& figures, Calibration& c) {
  if (const double s = figures.get_at_least("step_overhead_s", 0.0); s > 0) c.step_overhead_s[DeviceKind::cuda] = s;
  c.launch_floor_s = figures.get_at_least("launch_floor_s", 0.0);
  c.context_bytes = bytes(figures, "context_bytes");
  const JsonReader communicators = figures.at("communicator_bytes");
  for (const auto& [comm, ignored] : communicators.members()) c.communicator_bytes[comm] = bytes(communicators, comm);
}

struct FileVersion {
  int major = 0, minor = 0;

  bool tells_too_small_losses() const { return major == schema_major && minor >= 3 && minor < 7; }
};

/// Of a file that this program reads.
FileVersion required_version(const JsonReader& file) {
  require_format(file, format_name);
  const auto version = file.get<std::string>("schema_version");
  const char* const last = version.data() + version.size();
  int major = 0, minor = 0;
  const auto [end, error] = std::from_chars(version.data(), last, major);
  const bool is_number = error == std::errc() && (end == last || *end == '.');
  if (is_number && end != last) std::from_chars(end + 1, last, minor);
  if (is_number && (major == schema_major || major == merged_major)) return {major, minor};
  throw file.at("schema_version")
      .error(fmt::format("{}.x{}", schema_major,
                         !is_number             ? ""
                         : major > schema_major ? "; it was written by a newer parabench"
                                                : "; it was written by an older parabench"));
}

json layers_to_json(const std::map<LayerKey, std::vector<LayerTiming>>& layers) {
  json rows = json::array();
  for (const auto& [key, timings] : layers) {
    rows.push_back({{"layer", key.layer},
                    {"precision", to_text(key.precision)},
                    {"layout", to_text(key.layout)},
                    {"threads", key.threads},
                    {"busy_ranks", key.busy_ranks},
                    {"device", to_text(key.device)},
                    {"graph", key.graph},
                    {"input", to_text(key.input)},
                    {"timings", timings_to_json(timings)}});
  }
  return rows;
}

json launch_to_json(const Calibration& launch) {
  return {{"date", launch.date},
          {"software", launch.software},
          {"ranks", null_if_absent(launch.ranks)},
          {"canary", launch.canary ? parabench::to_json(*launch.canary) : json()},
          {"layers", layers_to_json(launch.layers)},
          {"all_reduce", curves_to_json(launch.all_reduce)},
          {"reduce_scatter", curves_to_json(launch.reduce_scatter)},
          {"all_gather", curves_to_json(launch.all_gather)},
          {"point_to_point", curves_to_json(launch.point_to_point)},
          {"update_s_per_parameter", rates_to_json(launch.update_s_per_parameter)},
          {"copy_bytes_per_s", rates_to_json(launch.copy_bytes_per_s)},
          {"load_s_per_sample", rates_to_json(launch.load_s_per_sample)},
          {"step_overhead_s", overhead_of(launch, DeviceKind::cpu)},
          {"process_bytes", launch.process_bytes},
          {"gpu", gpu_figures_to_json(launch)}};
}

LayerKey layer_key_from_json(const JsonReader& row) {
  return {.layer = row.get<std::string>("layer"),
          .precision = row.get<Precision>("precision"),
          .layout = row.get<Layout>("layout"),
          .threads = row.get_at_least("threads", 1),
          .busy_ranks = row.get_at_least("busy_ranks", 1),
          .device = device_of(row),
          .graph = row.find<bool>("graph").value_or(false),                  // unknown to files of schema 2.2
          .input = row.find<InputKind>("input").value_or(InputKind::host)};  // and of 2.3
}

void read_rank_count_and_canary(const JsonReader& row, Calibration& launch) {
  if (row.has("ranks")) launch.ranks = row.get_at_least("ranks", 1);
  if (row.has("canary")) launch.canary = canary_from_json(row.at("canary"));
}

/// In files of before 3.5 updates do not say with how many threads, and of what parameters, they were timed: those of
/// the launch's case, which its layers of the same device say, too.
void complete_updates(Calibration& launch) {
  std::map<UpdateKey, RatesByBusy> complete;
  for (auto& [old, rates] : launch.update_s_per_parameter) {
    UpdateKey key = old;
    for (const auto& [layer, timings] : launch.layers) {
      if (layer.device != key.device) continue;
      key.threads = layer.threads;
      key.parameter_bytes = plan::parameter_bytes(layer.precision);
    }
    complete[key] = std::move(rates);
  }
  launch.update_s_per_parameter = std::move(complete);
}

void forget_what_computing_loses(Calibration& launch) {
  for (auto* curves : {&launch.all_reduce, &launch.reduce_scatter, &launch.all_gather, &launch.point_to_point})
    for (auto& [key, curve] : *curves)
      for (CurvePoint& point : curve) point.lost_share.reset();
}

Calibration launch_from_json(const JsonReader& row, const MachineInfo& machine) {
  Calibration launch;
  launch.machine = machine;
  launch.date = row.get<std::string>("date");
  launch.software = row.find<std::string>("software").value_or("");  // unknown to files of schema 3.4
  read_rank_count_and_canary(row, launch);
  for (const JsonReader& layer : row.at("layers").items())
    launch.layers[layer_key_from_json(layer)] = timings_from_json(layer.at("timings"));
  launch.all_reduce = curves_from_json(row.at("all_reduce"));
  // Unknown to files of schema 3.0.
  if (row.has("reduce_scatter")) launch.reduce_scatter = curves_from_json(row.at("reduce_scatter"));
  if (row.has("all_gather")) launch.all_gather = curves_from_json(row.at("all_gather"));
  launch.point_to_point = curves_from_json(row.at("point_to_point"));
  const JsonReader updates = row.at("update_s_per_parameter");
  read_rates(updates, launch.update_s_per_parameter);
  const auto says_all = [](const JsonReader& update) { return update.has("threads"); };
  if (!std::ranges::all_of(updates.items(), says_all)) complete_updates(launch);
  read_rates(row.at("copy_bytes_per_s"), launch.copy_bytes_per_s);
  if (row.has("load_s_per_sample"))  // unknown to files of schema 3.2
    read_rates(row.at("load_s_per_sample"), launch.load_s_per_sample);
  if (const double s = row.get_at_least("step_overhead_s", 0.0); s > 0) launch.step_overhead_s[DeviceKind::cpu] = s;
  if (row.has("process_bytes")) launch.process_bytes = bytes(row, "process_bytes");  // unknown to files of schema 3.0
  if (row.has("gpu")) read_gpu_figures(row.at("gpu"), launch);
  return launch;
}

/// The launches of a file of schema 2, which kept one measurement of each value: those that it names, each with the
/// layers that name it, and one more, of unknown ranks and canary, with the other layers. What else there is names no
/// launch and is the last one's.
std::vector<Calibration> launches_of_merged(const JsonReader& file, const MachineInfo& machine) {
  Calibration rest = launch_from_json(file, machine);
  if (!file.has("launches")) return {std::move(rest)};  // schema 2.5
  std::vector<Calibration> launches;
  for (const JsonReader& row : file.at("launches").items()) {
    Calibration& launch = launches.emplace_back();
    launch.machine = machine;
    launch.date = row.get<std::string>("date");
    read_rank_count_and_canary(row, launch);
  }
  for (const JsonReader& layer : file.at("layers").items()) {
    const LayerKey key = layer_key_from_json(layer);
    for (const JsonReader& row : layer.at("timings").items()) {
      if (!row.has("launch")) continue;
      const int place = row.get_at_least("launch", 0);
      if (std::cmp_greater_equal(place, launches.size()))
        throw row.at("launch").error(fmt::format("the place of one of {} launches", launches.size()));
      std::vector<LayerTiming>& left = rest.layers[key];
      const auto timing = std::ranges::find(left, row.get<int>("samples"), &LayerTiming::samples);
      if (timing == left.end()) throw row.at("samples").error("a number of samples that the key has once");
      launches[place].layers[key].push_back(*timing);
      left.erase(timing);
    }
  }
  for (auto& launch : launches)
    for (auto& [key, timings] : launch.layers) std::ranges::sort(timings, {}, &LayerTiming::samples);
  std::erase_if(rest.layers, [](const auto& entry) { return entry.second.empty(); });
  std::erase_if(launches, [](const Calibration& launch) { return launch.layers.empty(); });
  if (rest.layers.empty() && !launches.empty()) {
    Calibration& newest = launches.back();
    rest.layers = std::move(newest.layers);
    rest.date = newest.date;
    rest.ranks = newest.ranks;
    rest.canary = newest.canary;
    launches.pop_back();
  }
  launches.push_back(std::move(rest));
  return launches;
}

}  // namespace

json to_json(const Calibration& calibration) {
  json launches = json::array();
  for (const Calibration& launch : calibration.launches) launches.push_back(launch_to_json(launch));
  if (launches.empty()) launches.push_back(launch_to_json(calibration));
  return {{"format", format_name},
          {"schema_version", schema_version},
          {"machine", to_json(calibration.machine)},
          {"launches", std::move(launches)}};
}

Calibration calibration_from_json(const JsonReader& file) {
  const FileVersion version = required_version(file);
  const MachineInfo machine = machine_from_json(file.at("machine"));
  if (version.major == merged_major) return combined(launches_of_merged(file, machine));
  std::vector<Calibration> launches;
  for (const JsonReader& row : file.at("launches").items()) {
    launches.push_back(launch_from_json(row, machine));
    if (version.tells_too_small_losses()) forget_what_computing_loses(launches.back());
  }
  if (launches.empty()) throw file.at("launches").error("at least one launch");
  return combined(std::move(launches));
}

Calibration calibration_from_json(const json& document, const std::string& name) {
  return calibration_from_json(JsonReader(document, name, "measure again with: " + to_type("calibrate")));
}

}  // namespace parabench::analytic
