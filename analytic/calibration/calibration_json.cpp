#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "analytic/calibration/calibration.h"
#include "base/case_text.h"
#include "base/error.h"

namespace parabench {
namespace {

using nlohmann::json;

constexpr std::string_view format_name = "parabench calibration";
// 2: a backward starts the gradients; in 1 it added to zeroed ones. 2.1: GPUs. 2.2: backwards in two parts. 2.3: graphs.
// 2.4: resident input.
constexpr int schema_major = 2;
constexpr std::string_view schema_version = "2.4";

Error bad_calibration(std::string_view what) {
  return usage_error("calibration", what, fmt::format("a complete '{}' file, schema {}.x", format_name, schema_major),
                     "measure again with: parabench calibrate");
}

double not_negative(const json& object, const char* key) {
  const double value = object.at(key).get<double>();
  if (!std::isfinite(value) || value < 0) throw bad_calibration(fmt::format("{} = {}", key, value));
  return value;
}

std::int64_t whole(const json& object, const char* key, std::int64_t least = 0) {
  const json& value = object.at(key);
  if (!value.is_number_integer() || value.get<std::int64_t>() < least) {
    throw bad_calibration(fmt::format("{} = {}", key, value.dump()));
  }
  return value.get<std::int64_t>();
}

int positive(const json& object, const char* key) { return static_cast<int>(whole(object, key, 1)); }

/// Files of schema 2.0 know the processor alone and name no device.
DeviceKind device_of(const json& row) {
  return row.contains("device") ? parse_enum<DeviceKind>("device", row["device"].get<std::string>()) : DeviceKind::cpu;
}

/// Sorts by `key` and refuses equal keys, which would make an interpolation divide by zero.
template <class Rows, class Key>
void sort_unique(Rows& rows, Key key, std::string_view what) {
  std::ranges::sort(rows, {}, key);
  if (std::ranges::adjacent_find(rows, {}, key) != rows.end()) {
    throw bad_calibration(fmt::format("a repeated entry in {}", what));
  }
}

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
    if (t.split) {
      rows.back()["split"] = {{"input_s", t.split->input_s},
                              {"weight_s", t.split->weight_s},
                              {"input_mad_s", t.split->input_mad_s},
                              {"weight_mad_s", t.split->weight_mad_s}};
    }
  }
  return rows;
}

std::optional<SplitTiming> split_from_json(const json& row) {
  if (!row.contains("split")) return std::nullopt;
  const json& split = row["split"];
  return SplitTiming{.input_s = not_negative(split, "input_s"),
                     .weight_s = not_negative(split, "weight_s"),
                     .input_mad_s = not_negative(split, "input_mad_s"),
                     .weight_mad_s = not_negative(split, "weight_mad_s")};
}

std::vector<LayerTiming> timings_from_json(const json& rows) {
  std::vector<LayerTiming> timings;
  for (const json& row : rows) {
    timings.push_back({.samples = positive(row, "samples"),
                       .forward_s = not_negative(row, "forward_s"),
                       .backward_s = not_negative(row, "backward_s"),
                       .forward_mad_s = not_negative(row, "forward_mad_s"),
                       .backward_mad_s = not_negative(row, "backward_mad_s"),
                       .saved_bytes = whole(row, "saved_bytes"),
                       .forward_peak_bytes = whole(row, "forward_peak_bytes"),
                       .backward_peak_bytes = whole(row, "backward_peak_bytes"),
                       .split = split_from_json(row)});
  }
  if (timings.empty()) throw bad_calibration("a layer without timings");
  sort_unique(timings, &LayerTiming::samples, "timings");
  return timings;
}

json curves_to_json(const std::map<RankCountKey, Curve>& curves) {
  json rows = json::array();
  for (const auto& [key, curve] : curves) {
    json points = json::array();
    for (const CurvePoint& p : curve) points.push_back({{"bytes", p.bytes}, {"seconds", p.seconds}});
    rows.push_back({{"comm", key.comm}, {"ranks", key.ranks}, {"device", to_text(key.device)}, {"points", points}});
  }
  return rows;
}

std::map<RankCountKey, Curve> curves_from_json(const json& rows, std::string_view what) {
  std::map<RankCountKey, Curve> curves;
  for (const json& row : rows) {
    Curve curve;
    for (const json& p : row.at("points")) {
      curve.push_back({.bytes = whole(p, "bytes"), .seconds = not_negative(p, "seconds")});
    }
    if (curve.empty()) throw bad_calibration(fmt::format("an empty curve in {}", what));
    sort_unique(curve, &CurvePoint::bytes, what);
    curves[{row.at("comm").get<std::string>(), positive(row, "ranks"), device_of(row)}] = std::move(curve);
  }
  return curves;
}

json rates_to_json(const std::map<DeviceKind, RatesByBusy>& devices) {
  json rows = json::array();
  for (const auto& [device, rates] : devices) {
    for (const auto& [busy, value] : rates) {
      rows.push_back({{"device", to_text(device)}, {"busy_ranks", busy}, {"value", value}});
    }
  }
  return rows;
}

std::map<DeviceKind, RatesByBusy> rates_from_json(const json& rows) {
  std::map<DeviceKind, RatesByBusy> rates;
  for (const json& row : rows) rates[device_of(row)][positive(row, "busy_ranks")] = not_negative(row, "value");
  return rates;
}

json gpus_to_json(const std::vector<GpuInfo>& gpus) {
  json rows = json::array();
  for (const GpuInfo& gpu : gpus) {
    rows.push_back(
        {{"name", gpu.name}, {"capability", gpu.capability}, {"memory_bytes", gpu.memory_bytes}, {"count", gpu.count}});
  }
  return rows;
}

std::vector<GpuInfo> gpus_from_json(const json& rows) {
  std::vector<GpuInfo> gpus;
  for (const json& row : rows) {
    gpus.push_back({.name = row.at("name").get<std::string>(),
                    .capability = static_cast<int>(whole(row, "capability")),
                    .memory_bytes = whole(row, "memory_bytes"),
                    .count = positive(row, "count")});
  }
  return gpus;
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

void read_gpu_figures(const json& figures, Calibration& c) {
  if (const double s = not_negative(figures, "step_overhead_s"); s > 0) c.step_overhead_s[DeviceKind::cuda] = s;
  c.launch_floor_s = not_negative(figures, "launch_floor_s");
  c.context_bytes = whole(figures, "context_bytes");
  const json& communicators = figures.at("communicator_bytes");
  for (const auto& item : communicators.items()) {
    c.communicator_bytes[item.key()] = whole(communicators, item.key().c_str());
  }
}

void require_ours(const json& file) {
  if (!file.is_object() || file.value("format", json()) != format_name) {
    throw bad_calibration("a file of another kind (no such 'format' field)");
  }
  const std::string version = file.at("schema_version").get<std::string>();
  int major = 0;
  for (const char c : version.substr(0, version.find('.'))) {
    if (c < '0' || c > '9' || major > 1000) throw bad_calibration(fmt::format("schema_version '{}'", version));
    major = 10 * major + (c - '0');
  }
  if (major > schema_major) {
    throw bad_calibration(fmt::format("schema_version '{}', written by a newer parabench", version));
  }
  if (major < schema_major) {
    throw bad_calibration(fmt::format("schema_version '{}', written by an older parabench", version));
  }
}

}  // namespace

json to_json(const MachineInfo& machine) {
  return {{"id", machine.id},
          {"host", machine.host},
          {"cpu", machine.cpu},
          {"governor", machine.governor},
          {"cores", machine.cores},
          {"memory_bytes", machine.memory_bytes},
          {"shared_memory_bytes", machine.shared_memory_bytes},
          {"frequency_hz", machine.frequency_hz},
          {"vector_bits", machine.vector_bits},
          {"gpus", gpus_to_json(machine.gpus)}};
}

MachineInfo machine_from_json(const json& m) {
  try {
    return {.id = m.at("id").get<std::string>(),
            .host = m.at("host").get<std::string>(),
            .cpu = m.at("cpu").get<std::string>(),
            .governor = m.at("governor").get<std::string>(),
            .cores = positive(m, "cores"),
            .memory_bytes = whole(m, "memory_bytes"),
            .shared_memory_bytes = whole(m, "shared_memory_bytes"),
            .frequency_hz = not_negative(m, "frequency_hz"),
            .vector_bits = static_cast<int>(whole(m, "vector_bits")),
            .gpus = gpus_from_json(m.value("gpus", json::array()))};
  } catch (const json::exception& e) {
    throw bad_calibration(e.what());
  }
}

json to_json(const Calibration& calibration) {
  json layers = json::array();
  for (const auto& [key, timings] : calibration.layers) {
    layers.push_back({{"layer", key.layer},
                      {"precision", to_text(key.precision)},
                      {"layout", to_text(key.layout)},
                      {"threads", key.threads},
                      {"busy_ranks", key.busy_ranks},
                      {"device", to_text(key.device)},
                      {"graph", key.graph},
                      {"input", to_text(key.input)},
                      {"timings", timings_to_json(timings)}});
  }
  return {{"format", format_name},
          {"schema_version", schema_version},
          {"machine", to_json(calibration.machine)},
          {"date", calibration.date},
          {"layers", layers},
          {"all_reduce", curves_to_json(calibration.all_reduce)},
          {"point_to_point", curves_to_json(calibration.point_to_point)},
          {"update_s_per_parameter", rates_to_json(calibration.update_s_per_parameter)},
          {"copy_bytes_per_s", rates_to_json(calibration.copy_bytes_per_s)},
          {"step_overhead_s", overhead_of(calibration, DeviceKind::cpu)},
          {"gpu", gpu_figures_to_json(calibration)}};
}

Calibration calibration_from_json(const json& file) {
  try {
    require_ours(file);
    Calibration c;
    c.machine = machine_from_json(file.at("machine"));
    c.date = file.at("date").get<std::string>();
    for (const json& row : file.at("layers")) {
      const LayerKey key{.layer = row.at("layer").get<std::string>(),
                         .precision = parse_enum<Precision>("precision", row.at("precision").get<std::string>()),
                         .layout = parse_enum<Layout>("layout", row.at("layout").get<std::string>()),
                         .threads = positive(row, "threads"),
                         .busy_ranks = positive(row, "busy_ranks"),
                         .device = device_of(row),
                         .graph = row.value("graph", false),  // unknown to files of schema 2.2
                         .input = parse_enum<InputKind>("input", row.value("input", "host"))};  // and of 2.3
      c.layers[key] = timings_from_json(row.at("timings"));
    }
    c.all_reduce = curves_from_json(file.at("all_reduce"), "all_reduce");
    c.point_to_point = curves_from_json(file.at("point_to_point"), "point_to_point");
    c.update_s_per_parameter = rates_from_json(file.at("update_s_per_parameter"));
    c.copy_bytes_per_s = rates_from_json(file.at("copy_bytes_per_s"));
    if (const double s = not_negative(file, "step_overhead_s"); s > 0) c.step_overhead_s[DeviceKind::cpu] = s;
    if (file.contains("gpu")) read_gpu_figures(file["gpu"], c);
    return c;
  } catch (const json::exception& e) {
    throw bad_calibration(e.what());
  }
}

}  // namespace parabench
