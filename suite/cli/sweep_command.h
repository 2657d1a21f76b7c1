// Command sweep: job scripts for a grid of cases, and how far they are.
#pragma once

#include <CLI/App.hpp>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "base/error.h"
#include "suite/cli/start.h"

namespace parabench::suite {

enum class Scheduler { local, slurm };
constexpr std::array<std::string_view, 2> names_of(Scheduler) { return {"local", "slurm"}; }

struct SweepOptions {
  std::string file, out;
  Scheduler scheduler = Scheduler::local;
};
void add_options(CLI::App& app, SweepOptions& options);
/// Throws usage_error where FILE or --out is missing, which `status` and `collect` do without.
void check(const SweepOptions& options);

/// Writes scripts, lists of cases and the index below `out`/<campaign>/<system>, and says on stdout what was left out,
/// why, and what to type. Starts nothing. Throws usage_error for a file that is none (sweep_file.h) and for control
/// characters in `out`, environment_error where it cannot be written, and Error with code nothing_matched where no case
/// is left.
ExitCode make_sweep(const SweepOptions& options, const Start& start);

struct SweepStatusOptions {
  std::string dir;
  bool json = false;
};
void add_options(CLI::App& app, SweepStatusOptions& options);

/// Prints how far the sweeps below `dir` are. case_failed where a case failed or has a result of other options.
ExitCode sweep_status(const SweepStatusOptions& options, const Start& start);

struct SweepCollectOptions {
  std::string dir, json;
};
void add_options(CLI::App& app, SweepCollectOptions& options);

/// Writes the records of the one sweep below `dir` into one results file, and says of how many of its cases; "-" for
/// stdout, and nothing besides. What was made with other options is left out, and named on stderr.
ExitCode collect_sweep(const SweepCollectOptions& options, const Start& start);

}  // namespace parabench::suite
