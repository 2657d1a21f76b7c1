#include "results/validate.h"

#include <nlohmann/json.hpp>
#include <string>

#include "base/called.h"
#include "base/error.h"
#include "base/file_format.h"
#include "results/schema.h"

namespace parabench::results {

const nlohmann::json& results_schema() {
  static const nlohmann::json schema = nlohmann::json::parse(results_schema_text);
  return schema;
}

std::vector<SchemaViolation> validate_results(const nlohmann::json& document) {
  return check_schema(results_schema(), results_schema(), document);
}

void require_results(const nlohmann::json& document, std::string_view subject) {
  const std::string format = format_of(document);
  if (format.empty()) return;
  throw usage_error(subject, format, "parabench results: this is a file of another kind",
                    to_type("run CASE --json FILE") + " writes one");
}

void require_valid(const JsonReader& value, std::string_view definition) {
  const nlohmann::json& document = value.value();
  if (!document.is_object()) throw usage_error(value.place(), document.type_name(), "a JSON object");
  const nlohmann::json& schema = results_schema();
  const std::vector<SchemaViolation> violations = check_schema(
      schema, definition.empty() ? schema : schema.at("definitions").at(std::string(definition)), document);
  if (violations.empty()) return;
  throw usage_error(value.place(), violations.front().pointer, "a value that fits the schema",
                    violations.front().message);
}

}  // namespace parabench::results
