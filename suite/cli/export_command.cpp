#include "suite/cli/export_command.h"

#include <ostream>

#include "results/export_csv.h"
#include "results/export_openmetrics.h"
#include "suite/cli/mllog.h"

namespace parabench::suite {
namespace {

std::string text_of(const results::ResultsFile& file, const ExportOptions& options) {
  switch (options.format) {
    case ExportFormat::csv: return results::results_csv(file);
    case ExportFormat::openmetrics: return results::results_openmetrics(file);
    case ExportFormat::mllog: return results_mllog(file, options.file);
  }
  return "";
}

}  // namespace

ExitCode export_results(const ExportOptions& options, std::ostream& out) {
  out << text_of(results::read_results(options.file), options);
  return ExitCode::ok;
}

}  // namespace parabench::suite
