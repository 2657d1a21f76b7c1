// What a run would do, as a script.
#pragma once

#include <iosfwd>
#include <vector>

#include "analytic/calibration/machine.h"
#include "base/error.h"
#include "suite/cases/selection.h"
#include "suite/protocol/offer.h"
#include "suite/run/progress.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

/// Prints what run_cases() would launch (run_plan.h) as exact commands, one per line: a shell script that calibrates,
/// makes the plans and starts every launch by hand, in the current folder. Starts nothing; a first run on a machine
/// also asks parabench-rank what it offers. Cases that a run would skip are comments with the reason.
ExitCode print_commands(const std::vector<SelectedCase>& chosen, RunOptions options, Progress& progress,
                        std::ostream& out);

/// The preparation of a run takes what a probe finds; without one, everything that this version knows is on offer.
protocol::Offer assumed_capabilities(const analytic::MachineInfo& machine);

}  // namespace parabench::suite
