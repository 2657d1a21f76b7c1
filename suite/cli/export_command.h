// Command export: a results file in the formats of other programs.
#pragma once

#include <array>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/enum_text.h"
#include "base/error.h"

namespace parabench::suite {

enum class ExportFormat { csv, openmetrics, mllog };
constexpr std::array<std::string_view, 3> names_of(ExportFormat) { return {"csv", "openmetrics", "mllog"}; }

struct ExportOptions {
  std::string file;
  ExportFormat format = ExportFormat::csv;
};

/// Throws usage_error for a file that is no results file.
ExitCode export_results(const ExportOptions& options, std::ostream& out);

}  // namespace parabench::suite
