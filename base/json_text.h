// JSON documents from text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace parabench {

/// Lists and objects inside one another that a document may have: all that goes over documents does so by recursion.
inline constexpr int most_json_levels = 200;

/// The document that `text` is. Throws usage_error that begins with `name` (a file) and tells the byte at which the
/// text stops being JSON, where a number stands that no double holds, or lists and objects lie too deep.
nlohmann::json parse_json(std::string_view text, const std::string& name);

/// The text of a document: on indented lines, or on one. Strings that are not UTF-8 (host names, arguments, what
/// programs printed) have U+FFFD in place of the bytes that are none.
std::string json_text(const nlohmann::json& document);
std::string json_line(const nlohmann::json& document);

}  // namespace parabench
