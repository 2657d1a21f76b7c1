// Command export: a results file in the formats of other programs.
#pragma once

#include <CLI/App.hpp>
#include <array>
#include <string>
#include <string_view>

#include "base/enum_text.h"
#include "base/error.h"
#include "suite/cli/start.h"

namespace parabench::suite {

enum class ExportFormat { csv, openmetrics, mllog };
constexpr std::array<std::string_view, 3> names_of(ExportFormat) { return {"csv", "openmetrics", "mllog"}; }

struct ExportOptions {
  std::string file;
  ExportFormat format = ExportFormat::csv;
};
void add_options(CLI::App& app, ExportOptions& options);

/// Throws usage_error for a file that is no results file.
ExitCode export_results(const ExportOptions& options, const Start& start);

}  // namespace parabench::suite
