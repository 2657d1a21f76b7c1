// What a run would do, as a script.
#pragma once

#include <iosfwd>
#include <vector>

#include "base/error.h"
#include "suite/cases/selection.h"
#include "suite/run/progress.h"
#include "suite/run/run_options.h"

namespace parabench {

/// Prints the exact commands of the cases, one per line: a shell script that makes the plans and starts every
/// launch by hand, in the current folder. Starts nothing. Cases that a run would skip are comments with the reason.
ExitCode print_commands(const std::vector<SelectedCase>& chosen, RunOptions options, Progress& progress,
                        std::ostream& out);

}  // namespace parabench
