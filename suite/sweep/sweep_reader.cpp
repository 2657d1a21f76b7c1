#include "suite/sweep/sweep_reader.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/enum_text.h"
#include "base/units_text.h"

namespace parabench::suite {

std::string text_of(const JsonReader& value) {
  const nlohmann::json& json = value.value();
  if (json.is_boolean()) return json.get<bool>() ? "on" : "off";
  if (json.is_number_integer()) return json.dump();
  if (json.is_number() && std::isfinite(json.get<double>())) return print_number(json.get<double>());
  if (!json.is_string()) throw value.error("a text, a number or a switch");
  const auto& text = json.get_ref<const std::string&>();
  if (std::ranges::any_of(text, [](unsigned char c) { return std::iscntrl(c) && c != '\t'; }))
    throw value.error("a text of one line");
  return text;
}

std::vector<JsonReader> items_of(const JsonReader& value) {
  return value.value().is_array() ? value.items() : std::vector<JsonReader>{value};
}

std::vector<std::string> texts_of(const JsonReader& value) {
  std::vector<std::string> texts;
  for (const JsonReader& item : items_of(value)) texts.push_back(text_of(item));
  return texts;
}

void require_known(const JsonReader& object, std::span<const std::string_view> keys) {
  for (const auto& [name, member] : object.members()) index_of_name(object.place(), name, keys);
}

}  // namespace parabench::suite
