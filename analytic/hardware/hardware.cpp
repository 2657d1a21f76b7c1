#include "analytic/hardware/hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "analytic/calibration/calibration.h"
#include "base/called.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_format.h"
#include "base/json_reader.h"
#include "base/json_text.h"

namespace parabench::analytic {
namespace {

constexpr std::string_view format_name = "parabench hardware";

double positive(const JsonReader& object, std::string_view key) {
  const auto value = object.get<double>(key);
  if (!std::isfinite(value) || value <= 0) throw object.at(key).error("a finite number above 0");
  return value;
}

std::int64_t bytes(const JsonReader& object) { return object.get_at_least("memory_bytes", std::int64_t{1}); }

std::string text(const JsonReader& object, std::string_view key) {
  const auto value = object.get<std::string>(key);
  if (value.empty()) throw object.at(key).error("a text that is not empty");
  return value;
}

void require_ours(const JsonReader& file) {
  if (file.value().is_array()) throw file.error("one sheet, not a list of them: an element in a file of its own");
  require_format(file, format_name);
  const auto version = file.get<std::string>("schema_version");
  if (version != "1.0" && version != "1.1")
    throw file.at("schema_version").error("1.0 or 1.1, the versions that this parabench reads");
}

void read_host(const JsonReader& host, MachineInfo& machine) {
  host.allow_only({"cpu", "cores", "frequency_hz", "vector_bits", "memory_bytes", "memory_bytes_per_s"});
  machine.cpu = text(host, "cpu");
  machine.cores = host.get_at_least("cores", 1);
  machine.frequency_hz = positive(host, "frequency_hz");
  machine.vector_bits = host.get_at_least("vector_bits", 32);
  machine.memory_bytes = bytes(host);
  machine.sheet->memory_bytes_per_s = positive(host, "memory_bytes_per_s");
}

void read_gpus(const JsonReader& gpus, MachineInfo& machine) {
  gpus.allow_only({"name", "count", "capability", "memory_bytes", "memory_bytes_per_s", "bf16_flops_per_s",
                   "tf32_flops_per_s", "fp32_flops_per_s", "fp64_flops_per_s", "link_bytes_per_s", "host_bytes_per_s"});
  machine.gpus.push_back({.name = text(gpus, "name"),
                          .capability = gpus.get_at_least("capability", 10),
                          .memory_bytes = bytes(gpus),
                          .count = gpus.get_at_least("count", 1)});
  machine.sheet->gpu = GpuRates{.bf16_flops = positive(gpus, "bf16_flops_per_s"),
                                .tf32_flops = positive(gpus, "tf32_flops_per_s"),
                                .fp32_flops = positive(gpus, "fp32_flops_per_s"),
                                .fp64_flops = positive(gpus, "fp64_flops_per_s"),
                                .memory_bytes_per_s = positive(gpus, "memory_bytes_per_s"),
                                .link_bytes_per_s = positive(gpus, "link_bytes_per_s"),
                                .host_bytes_per_s = positive(gpus, "host_bytes_per_s")};
}

HostRacks racks_of(const JsonReader& racks, double latency_of_hosts_s) {
  racks.allow_only({"hosts", "uplink_bytes_per_s", "latency_s"});
  return {.hosts = racks.get_at_least("hosts", 1),
          .uplink_bytes_per_s = positive(racks, "uplink_bytes_per_s"),
          .latency_s = racks.has("latency_s") ? racks.get_at_least("latency_s", 0.0) : latency_of_hosts_s};
}

HostNetwork network_of(const JsonReader& network) {
  network.allow_only({"nics", "bytes_per_s", "latency_s", "racks"});
  HostNetwork read{.nics = network.get_at_least("nics", 1),
                   .bytes_per_s = positive(network, "bytes_per_s"),
                   .latency_s = network.get_at_least("latency_s", 0.0)};
  if (network.has("racks")) read.racks = racks_of(network.at("racks"), read.latency_s);
  return read;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Hardware& hardware : shipped_hardware()) all.push_back(hardware.machine.sheet->name);
  return all;
}

}  // namespace

Hardware hardware_from_json(const nlohmann::json& document, const std::string& name) {
  const JsonReader file(document, name, to_type("list --hardware --json") + " shows those that are shipped");
  require_ours(file);
  file.allow_only({"format", "schema_version", "name", "summary", "sources", "host", "gpus", "network"});
  Hardware hardware{.summary = text(file, "summary"), .sources = file.get<std::vector<std::string>>("sources")};
  if (hardware.sources.empty()) throw file.at("sources").error("at least one source");
  MachineInfo& machine = hardware.machine;
  machine.sheet = HardwareSheet{.name = text(file, "name")};
  machine.id = machine.host = machine.sheet->name;
  read_host(file.at("host"), machine);
  if (file.has("gpus")) read_gpus(file.at("gpus"), machine);
  if (file.has("network")) machine.sheet->network = network_of(file.at("network"));
  return hardware;
}

std::span<const Hardware> shipped_hardware() {
  static const std::vector<Hardware> all = [] {
    std::vector<Hardware> read;
    for (const HardwareFile& file : shipped_hardware_files())
      read.push_back(hardware_from_json(parse_json(file.text, std::string(file.path)), std::string(file.path)));
    return read;
  }();
  return all;
}

Hardware find_hardware(const std::string& name_or_file) {
  const auto shipped = std::ranges::find(shipped_hardware(), name_or_file,
                                         [](const Hardware& hardware) { return hardware.machine.sheet->name; });
  if (shipped != shipped_hardware().end()) return *shipped;
  std::error_code hidden;
  if (!std::filesystem::exists(name_or_file, hidden))
    throw usage_error("--hardware", name_or_file, "a file, or the name of a shipped sheet",
                      nearest_hint(name_or_file, names()));
  return hardware_from_json(read_json(name_or_file), name_or_file + ": hardware");
}

void require_room(const MachineInfo& machine, const Case& spec) {
  if (!machine.sheet || measured_device(spec) != DeviceKind::cuda) return;
  const std::string& name = machine.sheet->name;
  if (machine.gpus.empty())
    throw usage_error("device", "cuda", "another device: hardware " + name + " has no GPU", "try device:cpu");
  const int gpus = machine.gpus.front().count;
  if (spec.comm == CommKind::nccl && spec.np > gpus && !machine.sheet->network)
    throw usage_error(
        "np", std::to_string(spec.np),
        fmt::format("at most {}, the GPUs of hardware {}, which has no network to further hosts", gpus, name));
}

const GpuInfo* largest_gpu(const MachineInfo& machine) {
  const auto largest = std::ranges::max_element(machine.gpus, {}, &GpuInfo::memory_bytes);
  return largest == machine.gpus.end() || largest->memory_bytes == 0 ? nullptr : &*largest;
}

}  // namespace parabench::analytic
