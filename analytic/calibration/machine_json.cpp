#include "analytic/calibration/machine_json.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace parabench::analytic {
namespace {

using nlohmann::json;

std::int64_t bytes(const JsonReader& row, std::string_view key) { return row.get_at_least(key, std::int64_t{0}); }

json gpus_to_json(const std::vector<GpuInfo>& gpus) {
  json rows = json::array();
  for (const GpuInfo& gpu : gpus) {
    rows.push_back(
        {{"name", gpu.name}, {"capability", gpu.capability}, {"memory_bytes", gpu.memory_bytes}, {"count", gpu.count}});
  }
  return rows;
}

GpuInfo gpu_from_json(const JsonReader& row) {
  return {.name = row.get<std::string>("name"),
          .capability = row.get_at_least("capability", 0),
          .memory_bytes = bytes(row, "memory_bytes"),
          .count = row.get_at_least("count", 1)};
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

MachineInfo machine_from_json(const JsonReader& m) {
  MachineInfo machine{.id = m.get<std::string>("id"),
                      .host = m.get<std::string>("host"),
                      .cpu = m.get<std::string>("cpu"),
                      .governor = m.get<std::string>("governor"),
                      .cores = m.get_at_least("cores", 1),
                      .memory_bytes = bytes(m, "memory_bytes"),
                      .shared_memory_bytes = bytes(m, "shared_memory_bytes"),
                      .frequency_hz = m.get_at_least("frequency_hz", 0.0),
                      .vector_bits = m.get_at_least("vector_bits", 0)};
  if (!m.has("gpus")) return machine;  // schema 2.0
  for (const JsonReader& gpu : m.at("gpus").items()) machine.gpus.push_back(gpu_from_json(gpu));
  return machine;
}

}  // namespace parabench::analytic
