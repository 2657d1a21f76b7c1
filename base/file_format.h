// Files of JSON that say of what kind they are.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/json_reader.h"

namespace parabench {

/// What a document's field "format" says it is; "" where it is no object with a text of that name.
std::string format_of(const nlohmann::json& document);

/// Throws the reader's error where a file is of another kind, and names that.
void require_format(const JsonReader& file, std::string_view format);

}  // namespace parabench
