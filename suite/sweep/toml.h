// TOML documents as JSON ones, so that one reader serves both.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace parabench::suite {

/// Dates and times become their text. Throws usage_error naming `name`, line and column where `text` is no TOML.
nlohmann::json toml_to_json(std::string_view text, const std::string& name);

}  // namespace parabench::suite
