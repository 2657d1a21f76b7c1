#include "suite/prepare.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/case_text.h"
#include "base/error.h"
#include "base/units_text.h"
#include "parallelism/plan/strategies.h"

namespace parabench {
namespace {

/// What this build of parabench-rank lacks for the case; "" when nothing.
std::string missing_capability(const Case& spec, const Capabilities& capabilities) {
  const auto lacks = [](const std::vector<std::string>& offered, std::string_view wanted) {
    return std::ranges::find(offered, wanted) == offered.end();
  };
  if (const auto device = to_text(spec.device); lacks(capabilities.devices, device)) {
    return fmt::format("device:{} is not in this build of parabench-rank (it offers {})", device,
                       fmt::join(capabilities.devices, ", "));
  }
  if (const auto comm = to_text(spec.comm); spec.np > 1 && lacks(capabilities.communicators, comm)) {
    return fmt::format("comm:{} is not in this build of parabench-rank (it offers {})", comm,
                       fmt::join(capabilities.communicators, ", "));
  }
  return "";
}

std::string missing_memory(const Forecast& forecast, const MachineInfo& machine) {
  const double needed = total_bytes(forecast.predicted);
  if (machine.memory_bytes == 0 || needed <= static_cast<double>(machine.memory_bytes)) return "";
  return fmt::format("predicted to need {} of memory, this host has {}; --force runs it all the same",
                     human_bytes(needed), human_bytes(static_cast<double>(machine.memory_bytes)));
}

void forecast_case(Prepared& prepared, const PrepareOptions& options, const Knowledge& knowledge) {
  prepared.forecast = make_forecast(*prepared.subject, knowledge, options.warmup, options.steps);
  if (!options.force) prepared.skip = missing_memory(*prepared.forecast, knowledge.machine);
}

void prepare_case(Prepared& prepared, const PrepareOptions& options, const Knowledge& knowledge) {
  const Case& spec = prepared.chosen.spec;
  prepared.subject = look_up(spec);
  prepared.skip = missing_capability(spec, options.capabilities);
  if (!prepared.runs()) return;
  check_case(spec, prepared.subject->model);
  if (prepared.subject->dataset.source != DataSource::synthetic && !options.has_data) {
    throw usage_error("--data", "", fmt::format("the folder of {}", spec.dataset.name),
                      fmt::format("{}-synthetic needs none", spec.dataset.name));
  }
  forecast_case(prepared, options, knowledge);
}

}  // namespace

std::vector<Prepared> prepare(const std::vector<SelectedCase>& chosen, const PrepareOptions& options,
                              const Knowledge& knowledge) {
  std::vector<Prepared> cases;
  for (const auto& one : chosen) {
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

}  // namespace parabench
