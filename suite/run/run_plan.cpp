#include "suite/run/run_plan.h"

#include "parallelism/plan/strategies/peer.h"
#include "suite/machine/calibrate.h"

namespace parabench::suite {

LaunchSteps steps_of(protocol::Phase phase, const RunOptions& options) {
  if (phase == protocol::Phase::paired) return {protocol::paired_steps, protocol::paired_warmup};
  return {options.steps, options.warmup};
}

std::vector<PlannedLaunch> launches_of(const Case& spec, const RunOptions& options) {
  std::vector<PlannedLaunch> launches;
  if (plan::is_peer(spec)) {
    launches.push_back({.phase = protocol::Phase::hand_over});
    if (options.verify == VerifyMode::only) launches.push_back({.repetition = 1, .timed = false});
  } else if (options.verify != VerifyMode::off && !is_emulated(spec)) {
    launches.push_back({.phase = protocol::Phase::verify});
  }
  if (options.verify == VerifyMode::only) return launches;
  for (int repetition = 1; repetition <= least_launches(options.stopping); ++repetition) {
    launches.push_back(
        {protocol::Phase::measure, repetition, repetition == 1 && !options.trace.empty() && !plan::is_peer(spec)});
  }
  if (options.paired && !plan::is_peer(spec) && !is_emulated(spec))
    launches.push_back({.phase = protocol::Phase::paired});
  return launches;
}

std::vector<std::vector<PlannedLaunch>> turns_of(const Case& spec, const RunOptions& options) {
  std::vector<std::vector<PlannedLaunch>> turns;
  bool is_over = true;
  for (const PlannedLaunch& launch : launches_of(spec, options)) {
    if (is_over) turns.emplace_back();
    turns.back().push_back(launch);
    is_over = launch.phase == protocol::Phase::measure;
  }
  return turns;
}

std::vector<std::size_t> calibrations_of(const std::vector<Prepared>& cases, const RunOptions& options,
                                         const Knowledge& knowledge) {
  if (options.verify == VerifyMode::only) return {};
  return measured_first(cases, knowledge);
}

}  // namespace parabench::suite
