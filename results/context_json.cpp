// The head of a results file as JSON, both ways.
#include "results/context_json.h"

#include <nlohmann/json.hpp>

namespace parabench {
namespace {

using nlohmann::json;

json null_if_empty(const std::string& text) { return text.empty() ? json() : json(text); }
std::string text(const json& value) { return value.is_null() ? "" : value.get<std::string>(); }

json host_json(const Host& host) {
  return {{"name", host.name},
          {"cpu", host.cpu},
          {"cores", host.cores},
          {"memory_bytes", host.memory_bytes},
          {"governor", null_if_empty(host.governor)},
          {"cpusets", host.cpusets}};
}

Host host_from_json(const json& value) {
  return {value["name"],           value["cpu"],    value["cores"], value["memory_bytes"],
          text(value["governor"]), value["cpusets"]};
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
          {"environment", context.environment}};
}

json to_json(const HostGpu& gpu) {
  return {{"name", gpu.name}, {"uuid", gpu.uuid}, {"capability", gpu.capability}, {"memory_bytes", gpu.memory_bytes}};
}

json to_json(const std::optional<CalibrationOrigin>& calibration) {
  if (!calibration) return nullptr;
  return {{"file", calibration->file}, {"date", calibration->date}, {"machine_id", calibration->machine_id}};
}

Program program_from_json(const json& value) {
  return {value["version"], value["git"], value["dirty"], value["build_type"], value["flags"]};
}

Context context_from_json(const json& value) {
  Context out;
  out.date = value["date"];
  out.argv = value["argv"].get<std::vector<std::string>>();
  for (const json& host : value["hosts"]) out.hosts.push_back(host_from_json(host));
  for (const json& gpu : value["gpus"]) out.gpus.push_back(host_gpu_from_json(gpu));
  out.mpi = text(value["mpi"]);
  out.launcher = text(value["launcher"]);
  out.libtorch = text(value["libtorch"]);
  out.environment = value["environment"].get<std::map<std::string, std::string>>();
  return out;
}

HostGpu host_gpu_from_json(const json& value) {
  return {value.at("name"), value.at("uuid"), value.at("capability"), value.at("memory_bytes")};
}

std::optional<CalibrationOrigin> calibration_origin_from_json(const json& value) {
  if (value.is_null()) return std::nullopt;
  return CalibrationOrigin{value["file"], value["date"], value["machine_id"]};
}

}  // namespace parabench
