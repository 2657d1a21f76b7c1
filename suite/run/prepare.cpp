#include "suite/run/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/case_text.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/units_text.h"
#include "parallelism/plan/strategies/check_case.h"
#include "parallelism/plan/strategies/peer.h"
#include "suite/launch/workplace.h"

namespace parabench::suite {
namespace {

/// Why `name` (a device or communicator) is not on offer.
std::string not_offered(std::string_view key, std::string_view name, const std::vector<std::string_view>& offered,
                        const protocol::Offer& capabilities) {
  const auto known = capabilities.obstacles.find(std::string(name));
  if (known != capabilities.obstacles.end()) return fmt::format("{}:{}: {}", key, name, known->second);
  const char* hint = name == "cuda" || name == "nccl" ? "; PARABENCH_PRESET=cuda ./parabench builds it" : "";
  return fmt::format("{}:{} is not in this build of parabench-rank (it offers {}){}", key, name,
                     fmt::join(offered, ", "), hint);
}

std::string exceeds(double needed, std::string_view of, std::int64_t available, const std::string& place) {
  if (available == 0 || needed <= static_cast<double>(available)) return "";
  return fmt::format("predicted to need {} of {}, {} has {}; --force runs it all the same", human_bytes(needed), of,
                     place, human_bytes(static_cast<double>(available)));
}

/// What the ranks of each GPU need together; of other hosts only what one rank needs is known.
std::string missing_gpu_memory(const Forecast& forecast, const std::vector<results::HostGpu>& gpus, bool one_host) {
  std::vector<double> needed(gpus.size());
  for (const RankPredicted& rank : forecast.predicted.ranks) {
    double& bytes = needed[rank.rank.value % gpus.size()];
    const auto own = static_cast<double>(rank.peak_memory.device_used);
    bytes = one_host ? bytes + own : std::max(bytes, own);
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    std::string reason = exceeds(needed[i], "memory", gpus[i].memory_bytes, fmt::format("GPU {}", i));
    if (!reason.empty()) return reason;
  }
  return "";
}

/// Whether it is predicted what the kernel has to find for the processes.
bool knows_resident(const Predicted& predicted) {
  return std::ranges::all_of(predicted.ranks, [](const RankPredicted& rank) { return rank.peak_memory.resident > 0; });
}

/// What the ranks of the fullest host need together, of their counted memory where no more is known.
double bytes_of_host(const Forecast& forecast, bool resident) {
  const Placement& placement = forecast.plan.placement;
  std::vector<double> hosts(static_cast<std::size_t>(host_count(placement)));
  for (const RankPredicted& rank : forecast.predicted.ranks) {
    const MemoryUsage& memory = rank.peak_memory;
    hosts[static_cast<std::size_t>(host_of(placement, rank.rank))] +=
        static_cast<double>(resident ? memory.resident : memory.total_counted());
  }
  return std::ranges::max(hosts);
}

std::string missing_memory(const Forecast& forecast, const PrepareOptions& options,
                           const analytic::MachineInfo& machine) {
  if (is_emulated(forecast.plan.spec)) return "";
  if (forecast.plan.spec.device != DeviceKind::cuda) {
    const bool resident = knows_resident(forecast.predicted);
    return exceeds(bytes_of_host(forecast, resident), resident ? "resident memory" : "memory", machine.memory_bytes,
                   "this host");
  }
  const auto& gpu = options.capabilities.gpu;
  return gpu && !gpu->gpus.empty() ? missing_gpu_memory(forecast, gpu->gpus, options.one_host) : "";
}

void forecast_case(Prepared& prepared, const PrepareOptions& options, const Knowledge& knowledge) {
  prepared.forecast = make_forecast(*prepared.subject, knowledge, options.warmup, options.steps);
  if (!options.force) prepared.skip = missing_memory(*prepared.forecast, options, knowledge.machine);
}

void prepare_case(Prepared& prepared, const PrepareOptions& options, const Knowledge& knowledge) {
  const Case& spec = prepared.chosen.spec;
  prepared.subject = look_up(prepared.chosen);
  if (plan::is_peer(spec)) {
    plan::check_case(spec, prepared.subject->model);
    prepared.subject->spec = plan::counterpart(spec);
  }
  // What no machine runs is refused, whatever this one lacks.
  plan::check_case(prepared.subject->spec, prepared.subject->model, prepared.chosen.given.get());
  prepared.skip = missing_capability(spec, options);
  if (!prepared.runs()) return;
  require_data(*prepared.subject, options.has_data);
  forecast_case(prepared, options, knowledge);
}

}  // namespace

std::string missing_capability(const Case& spec, const PrepareOptions& options) {
  const protocol::Offer& capabilities = options.capabilities;
  if (plan::is_peer(spec)) {
    const auto obstacle = options.peer_obstacles.find(std::string(plan::peer_product(spec).name));
    return obstacle == options.peer_obstacles.end() ? "" : obstacle->second;
  }
  if (!protocol::offers(capabilities, spec.device)) {
    return not_offered("device", to_text(spec.device), to_texts(capabilities.devices), capabilities);
  }
  if (spec.np == 1) return "";
  if (!protocol::offers(capabilities, spec.comm)) {
    return not_offered("comm", to_text(spec.comm), to_texts(capabilities.communicators), capabilities);
  }
  const int gpus = capabilities.gpu ? static_cast<int>(capabilities.gpu->gpus.size()) : 0;
  if (spec.comm == CommKind::nccl && options.one_host && spec.np > gpus) {
    return fmt::format(
        "comm:nccl wants a GPU for every rank: {} ranks, {} here; the ranks of comm:mpi and of "
        "comm:threads may share one",
        spec.np, counted(gpus, "GPU"));
  }
  return "";
}

void require_data(const Subject& subject, bool has_data) {
  if (has_data || !datasets::is_from_files(subject.dataset.source) || is_emulated(subject.spec)) return;
  throw usage_error("--data", "", fmt::format("the folder of {}", subject.spec.dataset.name),
                    fmt::format("{}-synthetic needs none", subject.spec.dataset.name));
}

PrepareOptions options_of_run(const RunOptions& options, const protocol::Offer& capabilities,
                              const Launcher& launcher) {
  return {capabilities, stays_on_this_host(launcher), !options.launches.data.empty(), options.force, options.warmup,
          options.steps};
}

std::vector<Prepared> prepare(const std::vector<SelectedCase>& chosen, const PrepareOptions& options,
                              const Knowledge& knowledge, const std::function<bool()>& interrupted) {
  std::vector<Prepared> cases;
  for (const auto& one : chosen) {
    if (interrupted && interrupted()) throw Interrupted{};
    Prepared prepared{one, std::nullopt, std::nullopt, ""};
    try {
      prepare_case(prepared, options, knowledge);
    } catch (const Error& error) {
      if (one.named || error.code() != ExitCode::usage) throw;
      prepared.skip = error.what();
    }
    cases.push_back(std::move(prepared));
  }
  return cases;
}

void forecast_again(std::vector<Prepared>& cases, const PrepareOptions& options, const Knowledge& knowledge) {
  for (auto& prepared : cases) {
    if (prepared.runs()) forecast_case(prepared, options, knowledge);
  }
}

}  // namespace parabench::suite
