// A run of cases: from the chosen ones to records, files, table and exit code.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "base/error.h"
#include "suite/cases/selection.h"
#include "suite/run/progress.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

/// Runs the cases: what parabench-rank offers here, calibration of what nobody measured yet, then per case one
/// verify launch and the measure launches. Every record goes into the journal (journal.h) as soon as it is finished;
/// at the end, or at an interruption, they become the results file. Writes the result to `out`: our table, or JSON with
/// json "-", or nothing where a Google Benchmark flag has taken stdout. Bad input and a lacking
/// environment throw before anything runs.
ExitCode run_cases(std::vector<SelectedCase> chosen, const RunOptions& options, const std::vector<std::string>& argv,
                   Progress& progress, std::ostream& out);

}  // namespace parabench::suite
