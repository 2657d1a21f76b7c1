// The head of a results file as JSON, both ways.
#include "results/context_json.h"

#include <nlohmann/json.hpp>

#include "base/json_null.h"

namespace parabench::results {
namespace {

using nlohmann::json;

std::string text(const JsonReader& object, std::string_view key) { return object.find<std::string>(key).value_or(""); }

json host_json(const Host& host) {
  return {{"name", host.name},
          {"cpu", host.cpu},
          {"cores", host.cores},
          {"memory_bytes", host.memory_bytes},
          {"governor", null_if_empty(host.governor)},
          {"cpusets", host.cpusets}};
}

Host host_from_json(const JsonReader& value) {
  return {value.get<std::string>("name"), value.get<std::string>("cpu"),
          value.get<int>("cores"),        value.get<std::int64_t>("memory_bytes"),
          text(value, "governor"),        value.get<std::vector<std::string>>("cpusets")};
}

}  // namespace

json to_json(const Program& program) {
  return {{"version", program.version},
          {"git", program.git},
          {"dirty", program.dirty},
          {"build_type", program.build_type},
          {"flags", program.flags}};
}

json to_json(const Context& context) {
  json hosts = json::array();
  for (const Host& host : context.hosts) hosts.push_back(host_json(host));
  json gpus = json::array();
  for (const HostGpu& gpu : context.gpus) gpus.push_back(to_json(gpu));
  return {{"date", context.date},
          {"argv", context.argv},
          {"hosts", std::move(hosts)},
          {"gpus", std::move(gpus)},
          {"mpi", null_if_empty(context.mpi)},
          {"launcher", null_if_empty(context.launcher)},
          {"libtorch", null_if_empty(context.libtorch)},
          {"environment", context.environment},
          {"notes", context.notes}};
}

json to_json(const HostGpu& gpu) {
  return {{"name", gpu.name}, {"uuid", gpu.uuid}, {"capability", gpu.capability}, {"memory_bytes", gpu.memory_bytes}};
}

json to_json(const std::optional<CalibrationOrigin>& calibration) {
  if (!calibration) return nullptr;
  return {{"file", calibration->file}, {"date", calibration->date}, {"machine_id", calibration->machine_id}};
}

Program program_from_json(const JsonReader& value) {
  return {value.get<std::string>("version"), value.get<std::string>("git"), value.get<bool>("dirty"),
          value.get<std::string>("build_type"), value.get<std::string>("flags")};
}

Context context_from_json(const JsonReader& value) {
  Context out;
  out.date = value.get<std::string>("date");
  out.argv = value.get<std::vector<std::string>>("argv");
  for (const JsonReader& host : value.at("hosts").items()) out.hosts.push_back(host_from_json(host));
  for (const JsonReader& gpu : value.at("gpus").items()) out.gpus.push_back(host_gpu_from_json(gpu));
  out.mpi = text(value, "mpi");
  out.launcher = text(value, "launcher");
  out.libtorch = text(value, "libtorch");
  out.environment = value.get<std::map<std::string, std::string>>("environment");
  if (value.has("notes")) out.notes = value.get<std::vector<std::string>>("notes");
  return out;
}

HostGpu host_gpu_from_json(const JsonReader& value) {
  return {value.get<std::string>("name"), value.get<std::string>("uuid"), value.get<int>("capability"),
          value.get<std::int64_t>("memory_bytes")};
}

std::optional<CalibrationOrigin> calibration_origin_from_json(const JsonReader& value) {
  if (value.value().is_null()) return std::nullopt;
  return CalibrationOrigin{value.get<std::string>("file"), value.get<std::string>("date"),
                           value.get<std::string>("machine_id")};
}

}  // namespace parabench::results
