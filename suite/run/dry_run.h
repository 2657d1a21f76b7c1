// What a run would do, as a script.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <vector>

#include "analytic/calibration/machine.h"
#include "base/error.h"
#include "suite/cases/selection.h"
#include "suite/protocol/offer.h"
#include "suite/run/progress.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

/// Prints what run_cases() would launch (run_plan.h) as exact commands, one per line: a shell script that calibrates,
/// makes the plans and starts every launch by hand, in the current folder. Starts nothing and needs
/// no parabench-rank: without one the commands name it as PATH finds it. A first run on a machine also asks it what it
/// offers. Cases that a run would skip are comments with the reason.
ExitCode print_commands(const std::vector<SelectedCase>& chosen, RunOptions options, Progress& progress,
                        std::ostream& out);

/// The preparation of a run takes what a probe finds; without one, everything that this version knows is on offer.
/// `program`: of the ranks, where there is one.
protocol::Offer assumed_capabilities(const analytic::MachineInfo& machine,
                                     const std::optional<std::filesystem::path>& program);

/// The last words of a dry run: nothing was started, and where there is no program of the ranks, what stands for it.
void note_dry_run(Progress& progress, bool has_program);

}  // namespace parabench::suite
