// Checks results files against their schema, the draft-7 file of results/schema as embedded in the program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.h"
#include "results/json_schema.h"

namespace parabench::results {

/// The schema of results files.
const nlohmann::json& results_schema();
/// What is wrong with a results file; empty: valid.
std::vector<SchemaViolation> validate_results(const nlohmann::json& document);

/// Throws usage_error for a file of another kind.
void require_results(const nlohmann::json& document, std::string_view subject);
/// Throws usage_error for the first violation of `definition` ("record", "measured", ...; "": a whole file), naming the
/// place of the value.
void require_valid(const JsonReader& value, std::string_view definition);

}  // namespace parabench::results
