// The part of JSON schema, draft 7, that our schema uses.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

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

}  // namespace parabench::results
