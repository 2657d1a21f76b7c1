// Checks results files against their schema, the draft-7 file of results/schema as embedded in the program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.h"

namespace parabench::results {

struct SchemaViolation {
  std::string pointer;  ///< JSON pointer to the offending value: "/records/0/status"; "" is the whole document
  std::string message;  ///< "expected one of "ok", "skipped", "failed", got "done""
  bool operator==(const SchemaViolation&) const = default;
};

/// What is wrong with `document` under a draft-7 `schema`; empty: valid. Knows the keywords that our schema uses and
/// throws std::logic_error for any other, so none is ever passed over in silence. `schema` may point into `root` by
/// $ref.
std::vector<SchemaViolation> check_schema(const nlohmann::json& root, const nlohmann::json& schema,
                                          const nlohmann::json& document);

/// The schema of results files.
const nlohmann::json& results_schema();
/// What is wrong with a results file; empty: valid.
std::vector<SchemaViolation> validate_results(const nlohmann::json& document);

/// Throws usage_error for the first violation of `definition` ("record", "measured", ...; "": a whole file), naming the
/// place of the value.
void require_valid(const JsonReader& value, std::string_view definition);

}  // namespace parabench::results
