// Options that several commands have, and how CLI11 reads ours.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "suite/cases/selection.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

/// An integer of at least `least`; its present value is the default that --help shows.
void add_integer(CLI::App& app, const std::string& option, int& target, int least, const std::string& help);

/// One of the names of E.
template <NamedEnum E>
void add_choice(CLI::App& app, const std::string& option, E& target, const std::string& help) {
  std::string names;
  for (const std::string_view name : enum_names<E>) names += (names.empty() ? "" : "|") + std::string(name);
  app.add_option_function<std::string>(
         option, [&target, option](const std::string& text) { target = parse_enum<E>(option, text); }, help)
      ->type_name(names)
      ->default_str(std::string(to_text(target)));
}

/// --schedule: the file of strategy csv.
void add_schedule(CLI::App& app, std::string& target);

/// --filter.
void add_filter(CLI::App& app, Selection& selection);

/// Cases by id, --set, --filter, --where unless told otherwise, and --schedule.
void add_selection(CLI::App& app, Selection& selection, bool where = true);

/// All of run, or those that `shared` marks.
void add_run_options(CLI::App& app, RunOptions& target, bool RunOption::*shared = nullptr);

/// Takes Google Benchmark's flags and their twins in the environment; --benchmark_repetitions counts where
/// --repetitions is not given, --benchmark_enable_random_interleaving is --interleave --shuffle. Throws usage_error for
/// a bad flag.
void take_benchmark_flags(RunOptions& options, const std::vector<std::string>& flags, const CLI::App& app);

/// --calibration, as run has it.
void add_calibration(CLI::App& app, std::string& path);
/// --hardware, for predictions by a data sheet.
void add_hardware(CLI::App& app, std::string& hardware, const std::string& help);
/// --hosts, for predictions; 0 where it is not given (set_hosts). `by_hardware`: the command has --hardware.
void add_hosts(CLI::App& app, int& hosts, bool by_hardware);
/// --emulate, as run has it.
void add_emulation(CLI::App& app, analytic::EmulatedCosts& emulated);
/// What of run's options tells how ranks are launched, of those that `shared` marks.
void add_launches(CLI::App& app, LaunchOptions& target, bool RunOption::*shared);

}  // namespace parabench::suite
