// Command validate.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "base/error.h"
#include "suite/cli/start.h"

namespace parabench::suite {

struct ValidateOptions {
  std::string file;
};
void add_options(CLI::App& app, ValidateOptions& options);

/// Checks a results file against its schema. Throws usage_error naming the first offending field.
ExitCode validate_file(const ValidateOptions& options, const Start& start);

}  // namespace parabench::suite
