#include "results/json_schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/json_text.h"
#include "base/pattern.h"

namespace parabench::results {
namespace {

using nlohmann::json;

bool has_type(const json& value, std::string_view type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (type == "number") return value.is_number();
  // Draft 7 counts 1.0 as an integer.
  if (type == "integer") {
    return value.is_number_integer() ||
           (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>());
  }
  throw std::logic_error(fmt::format("schema: unknown type '{}'", type));
}

/// What a message shows of a value: all of a small one, the kind of a large one.
std::string shown(const json& value) {
  const std::string text = json_line(value);
  return text.size() <= 60 ? text : fmt::format("{} of {} characters", value.type_name(), text.size());
}

std::string listed(const json& values) {
  std::vector<std::string> texts;
  for (const json& value : values) texts.push_back(value.dump());
  return fmt::format("{}", fmt::join(texts, ", "));
}

class Checker {
 public:
  explicit Checker(const json& root) : root_(root) {}

  void check(const json& schema, const json& value, const json::json_pointer& at) {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) report(at, "not expected here");
      return;
    }
    if (const auto reference = schema.find("$ref"); reference != schema.end()) {
      // Draft 7 ignores the siblings of a reference.
      return check(root_.at(json::json_pointer(reference->get<std::string>().substr(1))), value, at);
    }
    for (const auto& [keyword, rule] : schema.items()) check_keyword(keyword, rule, schema, value, at);
  }

  std::vector<SchemaViolation> violations;

 private:
  void report(const json::json_pointer& at, std::string message) { violations.push_back({at.to_string(), message}); }

  void expect(bool holds, const json& value, const json::json_pointer& at, const std::string& expectation) {
    if (!holds) report(at, fmt::format("expected {}, got {}", expectation, shown(value)));
  }

  void check_keyword(std::string_view keyword, const json& rule, const json& schema, const json& value,
                     const json::json_pointer& at) {
    if (keyword == "type") {
      const json types = rule.is_array() ? rule : json::array({rule});
      const auto fits = [&value](const json& type) { return has_type(value, type.get<std::string>()); };
      expect(std::ranges::any_of(types, fits), value, at,
             types.size() == 1 ? listed(types) : "one of " + listed(types));
    } else if (keyword == "enum") {
      const bool listed_value = std::ranges::find(rule, value) != rule.end();
      expect(listed_value, value, at, rule.size() == 1 ? listed(rule) : "one of " + listed(rule));
    } else if (keyword == "anyOf") {
      const auto fits = [&](const json& alternative) { return check_schema(root_, alternative, value).empty(); };
      if (!std::ranges::any_of(rule, fits)) report(at, schema.value("description", "fits none of its alternatives"));
    } else if (keyword == "minimum") {
      expect(!value.is_number() || value >= rule, value, at, ">= " + rule.dump());
    } else if (keyword == "exclusiveMinimum") {
      expect(!value.is_number() || value > rule, value, at, "> " + rule.dump());
    } else if (keyword == "exclusiveMaximum") {
      expect(!value.is_number() || value < rule, value, at, "< " + rule.dump());
    } else if (keyword == "minLength") {
      const bool holds = !value.is_string() || value.get_ref<const std::string&>().size() >= rule;
      expect(holds, value, at, fmt::format("{} characters or more", rule.dump()));
    } else if (keyword == "pattern") {
      const bool holds =
          !value.is_string() || finds_pattern("schema", rule.get_ref<const std::string&>(), PatternSyntax::ecmascript,
                                              value.get_ref<const std::string&>());
      expect(holds, value, at, "text like " + rule.get<std::string>());
    } else if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) check(rule, value[i], at / i);
    } else if (keyword == "minItems") {
      expect(!value.is_array() || value.size() >= rule, value, at, fmt::format("{} items or more", rule.dump()));
    } else if (keyword == "maxItems") {
      expect(!value.is_array() || value.size() <= rule, value, at, fmt::format("{} items or fewer", rule.dump()));
    } else if (keyword == "required") {
      for (const json& name : rule) {
        if (value.is_object() && !value.contains(name.get<std::string>()))
          report(at, fmt::format("lacks {}", name.dump()));
      }
    } else if (keyword == "properties") {
      for (const auto& [name, property] : rule.items()) {
        if (value.is_object() && value.contains(name)) check(property, value[name], at / name);
      }
    } else if (keyword == "additionalProperties") {
      check_additional(rule, schema, value, at);
    } else if (keyword != "$schema" && keyword != "$id" && keyword != "title" && keyword != "description" &&
               keyword != "definitions") {
      throw std::logic_error(fmt::format("schema: unknown keyword '{}'", keyword));
    }
  }

  void check_additional(const json& rule, const json& schema, const json& value, const json::json_pointer& at) {
    if (!value.is_object()) return;
    const json named = schema.value("properties", json::object());
    for (const auto& [name, property] : value.items()) {
      if (named.contains(name)) continue;
      if (rule.is_boolean()) {
        if (!rule.get<bool>()) report(at, fmt::format("has the unknown field \"{}\"", name));
      } else {
        check(rule, property, at / name);
      }
    }
  }

  const json& root_;
};

}  // namespace

std::vector<SchemaViolation> check_schema(const json& root, const json& schema, const json& document) {
  Checker checker(root);
  checker.check(schema, document, json::json_pointer());
  return checker.violations;
}

}  // namespace parabench::results
