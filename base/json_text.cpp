#include "base/json_text.h"

#include <fmt/format.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"

namespace parabench {
namespace {

/// The offset of the bracket that opens a level too many, if one does. What is no JSON may be told as too deep.
std::optional<std::size_t> first_too_deep(std::string_view text) {
  int levels = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '[' || c == '{')) {
      if (++levels > most_json_levels) return i;
    } else if (!in_string && (c == ']' || c == '}')) {
      --levels;
    }
  }
  return std::nullopt;
}

/// The library's message without its "[json.exception.parse_error.101] parse error ".
std::string without_mark(std::string message) {
  constexpr std::string_view mark = " parse error ";
  const std::size_t at = message.find(mark);
  return at == std::string::npos ? message : message.substr(at + mark.size());
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& name) {
  const auto place = [&](std::size_t byte) { return fmt::format("byte {} of {}", byte, text.size()); };
  if (const auto offset = first_too_deep(text)) {
    throw usage_error(name, place(*offset + 1),
                      fmt::format("at most {} lists and objects inside one another", most_json_levels));
  }
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    if (error.byte > text.size())
      throw usage_error(name, fmt::format("an end after byte {}", text.size()), "a JSON document",
                        "the file ends too early");
    throw usage_error(name, place(error.byte), "a JSON document", without_mark(error.what()));
  } catch (const nlohmann::json::out_of_range& error) {
    // The only one while parsing: a number, which the message quotes, that no double holds.
    const std::string_view what = error.what();
    const std::size_t open = what.find('\''), close = what.rfind('\'');
    const std::string_view number =
        open < close && close != what.npos ? what.substr(open + 1, close - open - 1) : "a number";
    throw usage_error(name, fmt::format("{} at byte {}", number, text.find(number) + 1), "numbers of at most 1.8e308");
  }
}

std::string json_text(const nlohmann::json& document) {
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_line(const nlohmann::json& document) {
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace parabench
