#include "suite/sweep/toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <type_traits>

#include "base/error.h"

namespace parabench::suite {
namespace {

using nlohmann::json;

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
  try {
    return convert(toml::parse(text, name));
  } catch (const toml::parse_error& error) {
    const toml::source_position place = error.source().begin;
    throw usage_error(name, fmt::format("line {}, column {}", place.line, place.column), "a TOML document",
                      error.description());
  }
}

}  // namespace parabench::suite
