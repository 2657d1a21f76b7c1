// Command validate-model: closed forms against published measurements.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "suite/cli/start.h"

namespace parabench::suite {

struct ValidateModelOptions {
  std::vector<std::string> files;  ///< none: the tables in the program
  std::string json;
};
void add_options(CLI::App& app, ValidateModelOptions& options);

/// Judges every file by itself. Throws usage_error naming the file and the line where one cannot be read or judged.
ExitCode validate_model(const ValidateModelOptions& options, const Start& start);

}  // namespace parabench::suite
