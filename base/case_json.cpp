#include "base/case_json.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/case_key.h"
#include "base/case_text.h"
#include "base/units_text.h"

namespace parabench {
namespace {

using nlohmann::json;

/// Whether files of older versions of the schema lack the key.
bool is_newer_key(const CaseKey& key) { return key.since != KeyDeclaration{}.since; }

/// A bracket parameter: a number or a truth value where its text is exactly that, else the text.
json typed_text(const std::string& text) {
  const json value = json::parse(text, nullptr, false);
  return value.is_primitive() && !value.is_null() && !value.is_discarded() && value.dump() == text ? value : json(text);
}

json typed(const NamedChoice& choice) {
  json parameters = json::object();
  for (const auto& [key, value] : choice.parameters) parameters[key] = typed_text(value);
  return {{"name", choice.name}, {"parameters", std::move(parameters)}, {"text", to_text(choice)}};
}

/// Of a text that print_number wrote. std::stod throws for numbers below 2.3e-308.
double read_number(std::string_view text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The value of a key by its type.
json typed(const Case& spec, const CaseKey& key) {
  const std::string text = value_text(spec, key);
  if (text.empty()) return {};
  switch (key.type) {
    case KeyType::integer: return json::parse(text);
    case KeyType::number: return read_number(text);
    case KeyType::size: return parse_bytes(key.name, text).value;
    case KeyType::on_off: return text == key.choices.back();
    case KeyType::choice: return text;
    case KeyType::named_choice: return typed(parse_choice(key.name, text));
  }
  return {};
}

/// The text of a value as the id spells it; nullopt for null.
std::optional<std::string> spelled(const json& value) {
  if (value.is_null()) return std::nullopt;
  if (value.is_object())
    return value.value("text", json()).is_string() ? value["text"].get<std::string>() : value.dump();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_number_float()) return print_number(value.get<double>());
  return value.dump();
}

NamedChoice choice_from_json(std::string_view name, const JsonReader& value) {
  NamedChoice choice = parse_choice(name, value.get<std::string>("text"));
  if (typed(choice) != value.value()) throw value.error("name and parameters that agree with text");
  return choice;
}

}  // namespace

json parameters_json(const Case& spec) {
  json out{{"model", typed(spec.model)}, {"dataset", typed(spec.dataset)}, {"strategy", typed(spec.strategy)}};
  for (const CaseKey& key : case_keys()) out[std::string(key.name)] = typed(spec, key);
  return out;
}

Case case_from_json(const JsonReader& object) {
  Case spec;
  spec.model = choice_from_json("model", object.at("model"));
  spec.dataset = choice_from_json("dataset", object.at("dataset"));
  spec.strategy = choice_from_json("strategy", object.at("strategy"));
  for (const CaseKey& key : case_keys()) {
    if (is_newer_key(key) && !object.value().contains(key.name)) continue;
    const JsonReader value = object.at(key.name);
    if (const auto text = spelled(value.value())) set_value(spec, key, *text);
    // Text reads more than the typed form does ("4" is not 4), so the value must also print back as it was.
    if (typed(spec, key) != value.value()) throw value.error("a value of this key's type");
  }
  const json known = parameters_json(spec);
  for (const auto& [name, ignored] : object.members()) {
    if (!known.contains(name)) find_case_key(name);
  }
  return spec;
}

}  // namespace parabench
