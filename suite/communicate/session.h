// From a command line to a table of exchanges, files and an exit code.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "base/error.h"
#include "suite/communicate/options.h"
#include "suite/run/progress.h"

namespace parabench::suite {

/// Launches every algorithm `--repetitions` times, by turns, so that drift touches all alike; a launch does all that is
/// asked of its algorithm. Writes the result to `out`: our table, or JSON with json "-", or nothing where a Google
/// Benchmark flag has taken stdout. One that fails does not stop the others; one that this machine cannot have is
/// skipped with the reason, and ends with the code environment. Bad input and a lacking environment throw before
/// anything runs.
ExitCode run_exchanges(const CommunicateOptions& options, const std::vector<std::string>& argv, Progress& progress,
                       std::ostream& out);

}  // namespace parabench::suite
