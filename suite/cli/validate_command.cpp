#include "suite/cli/validate_command.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/counted.h"
#include "base/file.h"
#include "results/validate.h"

namespace parabench::suite {

void add_options(CLI::App& app, ValidateOptions& options) {
  app.add_option("FILE", options.file, "Results file")->required()->type_name("");
}

ExitCode validate_file(const ValidateOptions& options, const Start& start) {
  const nlohmann::json document = read_json(options.file);
  results::require_results(document, options.file);
  results::require_valid(JsonReader(document, options.file), "");
  // Exchanges are there in place of records.
  const bool exchanges = document.contains("exchanges");
  fmt::print(start.out, "{}: valid, schema {}, {}\n", options.file, document.at("schema_version").get<std::string>(),
             counted(document.at(exchanges ? "exchanges" : "records").size(), exchanges ? "exchange" : "record"));
  return ExitCode::ok;
}

}  // namespace parabench::suite
