// Command report.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "suite/cli/start.h"

namespace parabench::suite {

struct ReportOptions {
  std::vector<std::string> files;
  std::string out;
  bool figures = true;  ///< also as SVG and PDF, which want python3 with matplotlib
};
void add_options(CLI::App& app, ReportOptions& options);

/// Writes page, tables and numbers of results files into a folder, and figures where they are wanted; prints what was
/// written. Without matplotlib all the rest is written and a note says what to type (ExitCode::environment). Throws
/// usage_error for a file that is no results file, for files without a record, and for a folder that cannot be written.
ExitCode report_results(const ReportOptions& options, const Start& start);

}  // namespace parabench::suite
