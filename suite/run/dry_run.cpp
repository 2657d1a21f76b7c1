#include "suite/run/dry_run.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "suite/cli/emulate_option.h"
#include "suite/launch/launch.h"
#include "suite/launch/workplace.h"
#include "suite/machine/knowledge.h"
#include "suite/run/prepare.h"

namespace parabench {
namespace {

/// The preparation of a run takes what a probe finds; without one, everything that this version knows is on offer.
Offer assumed_capabilities(const MachineInfo& machine) {
  return remembered_capabilities(machine, rank_program())
      .value_or(Offer{{DeviceKind::cpu, DeviceKind::emulated}, {CommKind::mpi, CommKind::threads}});
}

void print_case(const Prepared& prepared, int number, const RunOptions& options, std::ostream& out) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string plan_file = fmt::format("plan-{}.json", number);
  const LaunchHost host = this_host();
  const auto print_launch = [&](Phase phase, const std::string& reply, bool trace = false) {
    LaunchRequest request;
    request.phase = phase;
    request.plan = &prepared.forecast->plan;
    request.steps = options.steps;
    request.warmup = options.warmup;
    request.data = options.launches.data;
    request.skip_corrupt = options.launches.skip_corrupt;
    if (trace) request.trace_file = options.trace;
    fmt::print(out, "mkdir -p {} && {}\n", reply,
               shell_line(command_line(request, options.launches.launcher, host, plan_file, reply)));
  };
  const std::vector<std::string> calibration = options.calibration.empty()
                                                   ? std::vector<std::string>{}
                                                   : std::vector{std::string("--calibration"), options.calibration};
  const std::vector<std::string> schedule = prepared.chosen.schedule.empty()
                                                ? std::vector<std::string>{}
                                                : std::vector{std::string("--schedule"), prepared.chosen.schedule};
  const bool emulated = is_emulated(prepared.chosen.spec);
  if (prepared.forecast->cost_source != "calibrated" && !emulated) {
    std::vector<std::string> words = {self, "calibrate", prepared.chosen.id};
    words.insert(words.end(), schedule.begin(), schedule.end());
    if (!options.calibration.empty()) words.insert(words.end(), {"--out", options.calibration});
    fmt::print(out, "{}\n", shell_line(words));
  }
  std::vector<std::string> plan = {self,
                                   "plan",
                                   prepared.chosen.id,
                                   "--format",
                                   "json",
                                   "--steps",
                                   std::to_string(options.steps),
                                   "--warmup",
                                   std::to_string(options.warmup)};
  plan.insert(plan.end(), schedule.begin(), schedule.end());
  plan.insert(plan.end(), calibration.begin(), calibration.end());
  if (emulated && options.emulated_unit_s) plan.insert(plan.end(), {"--emulate", unit_text(*options.emulated_unit_s)});
  fmt::print(out, "{} > {}\n", shell_line(plan), plan_file);
  if (options.verify != VerifyMode::off && !emulated)
    print_launch(Phase::verify, fmt::format("reply-{}-verify", number));
  if (options.verify == VerifyMode::only) return;
  for (int repetition = 1; repetition <= options.repetitions; ++repetition) {
    print_launch(Phase::measure, fmt::format("reply-{}-measure-{}", number, repetition), repetition == 1);
  }
}

}  // namespace

ExitCode print_commands(const std::vector<SelectedCase>& chosen, RunOptions options, Progress& progress,
                        std::ostream& out) {
  const MachineInfo machine = known_machine();
  const CalibrationFile file = open_calibration(options.calibration, machine, false);
  const Offer capabilities = assumed_capabilities(machine);
  options.launches.launcher = usable_launcher(options.launches.launcher, capabilities);
  check_launches(chosen, options.launches.launcher, capabilities);
  const auto cases = prepare(chosen, options_of_run(options, capabilities, options.launches.launcher),
                             {machine, file.content ? &*file.content : nullptr, options.emulated_unit_s});
  ExitCode code = ExitCode::ok;
  int number = 0;
  for (const auto& one : cases) {
    fmt::print(out, "# {}{}\n", one.chosen.id, one.runs() ? "" : " skipped: " + one.skip);
    if (one.runs()) print_case(one, ++number, options, out);
    if (!one.runs() && one.chosen.named) code = ExitCode::environment;
  }
  progress.note("nothing was started (--dry-run)");
  return code;
}

}  // namespace parabench
