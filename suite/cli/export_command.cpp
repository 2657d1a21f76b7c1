#include "suite/cli/export_command.h"

#include <filesystem>
#include <ostream>

#include "results/export_openmetrics.h"
#include "results/report/csv.h"
#include "results/report/report.h"
#include "suite/cli/mllog.h"
#include "suite/cli/options.h"

namespace parabench::suite {
namespace {

std::string text_of(const ExportOptions& options) {
  const std::filesystem::path path = options.file;
  switch (options.format) {
    case ExportFormat::csv: return results::report_csv(results::make_report(results::read_report_files({&path, 1})));
    case ExportFormat::openmetrics: return results::results_openmetrics(results::read_results(path));
    case ExportFormat::mllog: return results_mllog(results::read_results(path), options.file);
  }
  return "";
}

}  // namespace

void add_options(CLI::App& app, ExportOptions& options) {
  app.add_option("FILE", options.file, "Results file")->required()->type_name("");
  add_choice(app, "--format", options.format,
             "csv has one row per record; openmetrics and mllog hold the rows that count");
}

ExitCode export_results(const ExportOptions& options, const Start& start) {
  start.out << text_of(options);
  return ExitCode::ok;
}

}  // namespace parabench::suite
