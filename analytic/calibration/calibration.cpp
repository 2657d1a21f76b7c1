#include "analytic/calibration/calibration.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "analytic/calibration/calibration_json.h"
#include "base/case_text.h"
#include "base/error.h"
#include "base/file.h"
#include "base/optimizer.h"
#include "parallelism/plan/state/state_layout.h"
#include "parallelism/plan/strategies/c10d.h"

namespace parabench::analytic {

std::string communicator_name(const Case& spec) {
  return std::string(to_text(spec.comm)) + (spec.np == 1 ? "/np:1" : "");
}

std::span<const Calibration> launches_in(const Calibration& calibration) {
  return calibration.launches.empty() ? std::span(&calibration, 1) : std::span(calibration.launches);
}

int competing_ranks(const Case& spec, const Placement& placement) {
  return is_emulated(spec) ? 1 : ranks_on_fullest_host(placement, spec.np);
}

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

std::string segment_signature(std::span<const std::string> layers) {
  return fmt::format("{}", fmt::join(layers, segment_joint));
}

RankCountKey reduction_key(const Case& spec, const GroupShape& shape) {
  std::string comm(to_text(spec.comm));
  if (spec.reduce != ReduceKind::automatic) (comm += " reduce:") += to_text(spec.reduce);
  if (plan::sums_by_reducer(spec)) comm += " c10d";
  return {std::move(comm), shape.ranks, measured_device(spec), shape.hosts, shape.most};
}

RankCountKey message_key(const Case& spec, bool between_hosts) {
  const int hosts = between_hosts ? 2 : 1, most = between_hosts ? 1 : spec.np;
  return {std::string(to_text(spec.comm)), spec.np, measured_device(spec), hosts, most};
}

LoadKey load_key(const Case& spec) { return {to_text(spec.dataset), spec.loader}; }

UpdateKey update_key(const Case& spec) {
  const bool keeps_all = state_count(optimizer_rule(spec)) == find_optimizer(spec.optimizer.name).states;
  return {.device = measured_device(spec),
          .optimizer = spec.optimizer.name + (keeps_all ? "" : "/momentum:0"),
          .threads = threads_of_operation(spec),
          .parameter_bytes = plan::parameter_bytes(spec.precision)};
}

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

}  // namespace parabench::analytic
