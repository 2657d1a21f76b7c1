#include "suite/sweep/toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/json_text.h"

namespace parabench::suite {
namespace {

using nlohmann::json;

/// The offset behind the string or comment that begins at `start`, which may lack its end.
std::size_t end_of_opaque(std::string_view text, std::size_t start) {
  const char quote = text[start];
  if (quote == '#') return std::min(text.find('\n', start), text.size());
  const bool is_long = text.substr(start, 3) == std::string(3, quote);
  const std::string end(is_long ? 3 : 1, quote);
  for (std::size_t i = start + end.size(); i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text.substr(i, end.size()) == end) {
      i += end.size();
      // A long string may end in up to two quotes of its own.
      for (int own = 0; is_long && own < 2 && i < text.size() && text[i] == quote; ++own) ++i;
      return i;
    } else if (!is_long && text[i] == '\n') {
      return i;
    }
  }
  return text.size();
}

/// The line on which lists and tables, also those of dotted keys, lie too deep in one another, if there is one. The
/// library limits brackets alone, and takes its tables down by recursion.
std::optional<std::size_t> first_line_too_deep(std::string_view text) {
  std::vector<int> outer;  // levels before each open bracket
  int levels = 0;
  std::size_t line = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'' || c == '#') {
      const std::size_t end = end_of_opaque(text, i);
      line += static_cast<std::size_t>(std::ranges::count(text.substr(i, end - i), '\n'));
      i = end - 1;
    } else if (c == '[' || c == '{') {
      outer.push_back(levels++);
    } else if ((c == ']' || c == '}') && !outer.empty()) {
      levels = outer.back();
      outer.pop_back();
    } else if (c == '.') {
      ++levels;
    } else if (c == ',' || c == '\n') {
      levels = outer.empty() ? 0 : outer.back() + 1;
    }
    if (levels > most_json_levels) return line;
    if (c == '\n') ++line;
  }
  return std::nullopt;
}

json convert(const toml::node& node) {
  return node.visit([](const auto& value) -> json {
    using Node = std::remove_cvref_t<decltype(value)>;
    if constexpr (toml::is_table<Node>) {
      json object = json::object();
      for (const auto& [key, member] : value) object[std::string(key.str())] = convert(member);
      return object;
    } else if constexpr (toml::is_array<Node>) {
      json list = json::array();
      for (const toml::node& item : value) list.push_back(convert(item));
      return list;
    } else if constexpr (toml::is_date<Node> || toml::is_time<Node> || toml::is_date_time<Node>) {
      std::ostringstream text;
      text << value.get();
      return text.str();
    } else {
      return value.get();
    }
  });
}

}  // namespace

json toml_to_json(std::string_view text, const std::string& name) {
  if (const auto line = first_line_too_deep(text)) {
    throw usage_error(name, fmt::format("line {}", *line),
                      fmt::format("at most {} lists and tables inside one another", most_json_levels));
  }
  try {
    return convert(toml::parse(text, name));
  } catch (const toml::parse_error& error) {
    const toml::source_position place = error.source().begin;
    throw usage_error(name, fmt::format("line {}, column {}", place.line, place.column), "a TOML document",
                      error.description());
  }
}

}  // namespace parabench::suite
