#include "suite/run/dry_run.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <filesystem>
#include <optional>
#include <ostream>

#include "base/called.h"
#include "parallelism/plan/strategies/peer.h"
#include "suite/launch/launch.h"
#include "suite/launch/workplace.h"
#include "suite/machine/knowledge.h"
#include "suite/run/emulate_option.h"
#include "suite/run/run_plan.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

std::string self() { return fs::read_symlink("/proc/self/exe"); }

/// `parabench COMMAND ID`, with what both commands of a script need to know of the case.
std::vector<std::string> words_of(const char* command, const SelectedCase& chosen) {
  std::vector<std::string> words = {self(), command, chosen.id};
  if (!chosen.schedule.empty()) words.insert(words.end(), {"--schedule", chosen.schedule});
  return words;
}

std::string calibrate_line(const SelectedCase& chosen, const RunOptions& options) {
  std::vector<std::string> words = words_of("calibrate", chosen);
  if (!options.calibration.empty()) words.insert(words.end(), {"--out", options.calibration});
  for (const RunOption& option : run_options())
    if (option.of_calibrate) add_if_given(words, option, options);
  return shell_line(words);
}

std::string plan_line(const SelectedCase& chosen, const RunOptions& options) {
  std::vector<std::string> words = words_of("plan", chosen);
  words.insert(words.end(), {"--format", "json", "--steps", std::to_string(options.steps), "--warmup",
                             std::to_string(options.warmup)});
  if (!options.calibration.empty()) words.insert(words.end(), {"--calibration", options.calibration});
  if (options.emulated != analytic::EmulatedCosts{})
    words.insert(words.end(), {"--emulate", emulate_text(options.emulated)});
  return shell_line(words);
}

/// `program`: of the ranks.
void print_case(const Prepared& prepared, int number, const RunOptions& options, const fs::path& program,
                std::ostream& out) {
  const std::string plan_file = fmt::format("plan-{}.json", number);
  fmt::print(out, "{} > {}\n", plan_line(prepared.chosen, options), plan_file);
  for (const PlannedLaunch& launch : launches_of(prepared.chosen.spec, options)) {
    LaunchRequest request;
    request.phase = launch.phase;
    request.plan = &prepared.forecast->plan;
    const LaunchSteps asked = steps_of(launch.phase, options);
    request.steps = asked.steps;
    request.warmup = asked.warmup;
    request.data = options.launches.data;
    request.skip_corrupt = options.launches.skip_corrupt;
    request.program = program;
    if (launch.traced) request.trace_file = options.trace;
    std::string reply = fmt::format("reply-{}-{}", number, to_text(launch.phase));
    if (launch.repetition > 0) reply += fmt::format("-{}", launch.repetition);
    fmt::print(out, "mkdir -p {} && {}\n", reply,
               shell_line(command_line(request, options.launches.launcher, this_host(), plan_file, reply)));
  }
}

}  // namespace

protocol::Offer assumed_capabilities(const analytic::MachineInfo& machine, const std::optional<fs::path>& program) {
  return (program ? remembered_capabilities(machine, *program) : std::nullopt)
      .value_or(protocol::Offer{{DeviceKind::cpu, DeviceKind::emulated}, {CommKind::mpi, CommKind::threads}});
}

void note_dry_run(Progress& progress, bool has_program) {
  progress.note("nothing was started (--dry-run)");
  if (has_program) return;
  progress.note(
      fmt::format("{} is not built here: the commands look for it in PATH, and calibrate takes the one that "
                  "PARABENCH_RANK names; {} builds it",
                  rank_program_name, build_rank_program));
}

ExitCode print_commands(const std::vector<SelectedCase>& chosen, RunOptions options, Progress& progress,
                        std::ostream& out) {
  const analytic::MachineInfo machine = known_machine();
  const CalibrationFile file = open_calibration(options.calibration, machine, false);
  const auto program = find_rank_program();
  const protocol::Offer capabilities = assumed_capabilities(machine, program);
  const LaunchHost host = this_host();
  settle_launcher(options.launches, host.allocation, progress);
  options.launches.launcher = usable_launcher(options.launches.launcher, capabilities);
  // Where no rank can be started, the commands are for another place.
  if (program) check_launches(chosen, options.launches.launcher, capabilities);
  const Knowledge knowledge = knowledge_of(machine, file, options.emulated);
  const auto cases = prepare(chosen, options_of_run(options, capabilities, options.launches.launcher), knowledge);
  for (const std::size_t i : calibrations_of(cases, options, knowledge))
    fmt::print(out, "{}\n", calibrate_line(cases[i].chosen, options));
  ExitCode code = ExitCode::ok;
  int number = 0;
  for (const auto& one : cases) {
    fmt::print(out, "# {}{}\n", one.chosen.id, one.runs() ? "" : " skipped: " + one.skip);
    if (plan::is_peer(one.chosen.spec)) {
      fmt::print(out, "# another product: {} launches it, with files that it makes itself\n", to_type("run"));
    } else if (one.runs()) {
      print_case(one, ++number, options, program.value_or(rank_program_name), out);
    }
    if (!one.runs() && one.chosen.named) code = ExitCode::environment;
  }
  note_dry_run(progress, program.has_value());
  return code;
}

}  // namespace parabench::suite
