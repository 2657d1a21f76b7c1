#include "suite/run/dry_run.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
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

std::string plan_file(int number) { return fmt::format("plan-{}.json", number); }

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

struct Script {
  const RunOptions& options;
  fs::path program;  ///< of the ranks
  std::ostream& out;
};

/// `number`: of the case, from 1.
void print_launches(const Prepared& prepared, int number, const std::vector<PlannedLaunch>& launches,
                    const Script& script) {
  const RunOptions& options = script.options;
  for (const PlannedLaunch& launch : launches) {
    LaunchRequest request;
    request.phase = launch.phase;
    request.plan = &prepared.forecast->plan;
    const LaunchSteps asked = steps_of(launch.phase, options);
    request.steps = asked.steps;
    request.warmup = asked.warmup;
    request.data = options.launches.data;
    request.skip_corrupt = options.launches.skip_corrupt;
    request.program = script.program;
    if (launch.traced) request.trace_file = options.trace;
    std::string reply = fmt::format("reply-{}-{}", number, to_text(launch.phase));
    if (launch.repetition > 0) reply += fmt::format("-{}", launch.repetition);
    fmt::print(script.out, "mkdir -p {} && {}\n", reply,
               shell_line(command_line(request, options.launches.launcher, this_host(), plan_file(number), reply)));
  }
}

/// Case by case, or with --interleave round by round, in the order of the cases.
void print_cases(const std::vector<Prepared>& cases, const Script& script) {
  for (std::size_t round = 0, rounds = 1; round < rounds; ++round) {
    int number = 0;
    for (const Prepared& one : cases) {
      const bool is_peer = plan::is_peer(one.chosen.spec), launches = one.runs() && !is_peer;
      if (round == 0) fmt::print(script.out, "# {}{}\n", one.chosen.id, one.runs() ? "" : " skipped: " + one.skip);
      if (round == 0 && is_peer)
        fmt::print(script.out, "# another product: {} launches it, with files that it makes itself\n", to_type("run"));
      if (!launches) continue;
      ++number;
      if (round == 0) fmt::print(script.out, "{} > {}\n", plan_line(one.chosen, script.options), plan_file(number));
      if (!script.options.interleave) {
        print_launches(one, number, launches_of(one.chosen.spec, script.options), script);
        continue;
      }
      const auto turns = turns_of(one.chosen.spec, script.options);
      rounds = std::max(rounds, turns.size());
      if (round < turns.size()) print_launches(one, number, turns[round], script);
    }
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
  print_cases(cases, {options, program.value_or(rank_program_name), out});
  const bool lacks = std::ranges::any_of(cases, [](const auto& one) { return !one.runs() && one.chosen.named; });
  note_dry_run(progress, program.has_value());
  return lacks ? ExitCode::environment : ExitCode::ok;
}

}  // namespace parabench::suite
