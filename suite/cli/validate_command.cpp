#include "suite/cli/validate_command.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "base/file.h"
#include "results/validate.h"

namespace parabench::suite {

ExitCode validate_file(const std::string& path, std::ostream& out) {
  const nlohmann::json document = read_json(path);
  results::require_valid(JsonReader(document, path), "");
  fmt::print(out, "{}: valid, schema {}, {} records\n", path, document.at("schema_version").get<std::string>(),
             document.at("records").size());
  return ExitCode::ok;
}

}  // namespace parabench::suite
