// The text of results/schema, embedded when the program is built.
#pragma once

#include <string_view>

namespace parabench::results {

extern const std::string_view results_schema_text;

}  // namespace parabench::results
