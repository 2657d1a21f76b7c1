// Command compare: two results files case by case.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "base/error.h"
#include "results/compare_files.h"
#include "suite/cli/start.h"

namespace parabench::suite {

struct CompareOptions {
  std::string a, b;  ///< results files
  results::CompareRules rules;
  bool json = false;
};
void add_options(CLI::App& app, CompareOptions& options);

/// Prints the comparison. case_failed where a case became SLOWER, or is good in A and failed or became wrong in B;
/// nothing_matched where no case could be compared.
/// Throws usage_error for a file that is no results file, and for different work that the rules do not allow.
ExitCode compare_results(const CompareOptions& options, const Start& start);

}  // namespace parabench::suite
