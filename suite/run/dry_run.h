// What a run would do, as a script.
#pragma once

#include <iosfwd>
#include <vector>

#include "base/error.h"
#include "suite/cases/selection.h"
#include "suite/run/progress.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

/// Prints what run_cases() would launch (run_plan.h) as exact commands, one per line: a shell script that calibrates,
/// makes the plans and starts every launch by hand, in the current folder. Starts nothing and needs
/// no parabench-rank: without one the commands name it as PATH finds it. A first run on a machine also asks it what it
/// offers. Cases that a run would skip are comments with the reason.
ExitCode print_commands(const std::vector<SelectedCase>& chosen, RunOptions options, Progress& progress,
                        std::ostream& out);

}  // namespace parabench::suite
