// Commands run and quick.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "suite/cases/selection.h"
#include "suite/cli/start.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

struct RunCommand {
  Selection selection;
  RunOptions options;
  bool quick = false;  ///< the cases come from the quick set
};
/// The quick cases with few steps and a results file: quick.json in PARABENCH_OUT, else in results/out of the current
/// folder.
RunCommand quick_command();

void add_options(CLI::App& app, RunCommand& command);

/// Takes Google Benchmark's flags; --benchmark_repetitions counts where --repetitions is not given. Throws usage_error
/// for a bad flag, and where nothing chooses a case.
void take_benchmark_flags(RunCommand& command, const std::vector<std::string>& flags, const CLI::App& app);

ExitCode run_or_quick(const RunCommand& command, const Start& start);

}  // namespace parabench::suite
