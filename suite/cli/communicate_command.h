// Command communicate: times collectives and messages by themselves.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "suite/cli/start.h"
#include "suite/communicate/options.h"

namespace parabench::suite {

void add_options(CLI::App& app, CommunicateOptions& options);

/// Takes Google Benchmark's flags; --benchmark_repetitions counts where --repetitions is not given. Throws usage_error
/// for a bad flag.
void take_benchmark_flags(CommunicateOptions& options, const std::vector<std::string>& flags, const CLI::App& app);

ExitCode time_exchanges(const CommunicateOptions& options, const Start& start);

}  // namespace parabench::suite
