#include "results/json_schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

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

/// Where a value stands; written as a pointer only where something is wrong.
struct Place {
  const Place* parent = nullptr;  ///< nullptr: the whole document
  const std::string* name = nullptr;
  std::size_t index = 0;

  json::json_pointer pointer() const {
    if (!parent) return json::json_pointer();
    return name ? parent->pointer() / *name : parent->pointer() / index;
  }
};

class Checker {
 public:
  explicit Checker(const json& root) : root_(root) {}

  void check(const json& schema, const json& value, const Place& at) {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) report(at, "not expected here");
      return;
    }
    if (const auto reference = schema.find("$ref"); reference != schema.end()) {
      // Draft 7 ignores the siblings of a reference.
      return check(root_.at(json::json_pointer(reference->get<std::string>().substr(1))), value, at);
    }
    for (const auto& [keyword, rule] : schema.items())
      if (keyword != "anyOf") check_keyword(keyword, rule, schema, value, at);
    // Last: a wrong field, which fits no alternative either, is the cause and comes before.
    if (const auto any_of = schema.find("anyOf"); any_of != schema.end())
      check_keyword(any_of.key(), *any_of, schema, value, at);
  }

  std::vector<SchemaViolation> violations;

 private:
  void report(const Place& at, std::string message) {
    violations.push_back({at.pointer().to_string(), std::move(message)});
  }

  /// `expectation` makes its text only where it is told.
  template <class Expectation>
  void expect(bool holds, const json& value, const Place& at, Expectation expectation) {
    if (!holds) report(at, fmt::format("expected {}, got {}", expectation(), shown(value)));
  }

  void check_keyword(const std::string& keyword, const json& rule, const json& schema, const json& value,
                     const Place& at) {
    const auto one_of = [&rule] {
      const json choices = rule.is_array() ? rule : json::array({rule});
      return choices.size() == 1 ? listed(choices) : "one of " + listed(choices);
    };
    const auto than = [&rule](std::string_view text) {
      return [&rule, text] { return fmt::format("{} {}", text, rule.dump()); };
    };
    const auto number_of = [&rule](std::string_view text) {
      return [&rule, text] { return fmt::format("{} {}", rule.dump(), text); };
    };
    if (keyword == "type") {
      const auto fits = [&value](const json& type) { return has_type(value, type.get_ref<const std::string&>()); };
      expect(rule.is_array() ? std::ranges::any_of(rule, fits) : fits(rule), value, at, one_of);
    } else if (keyword == "enum") {
      expect(std::ranges::find(rule, value) != rule.end(), value, at, one_of);
    } else if (keyword == "anyOf") {
      const auto fits = [&](const json& alternative) { return check_schema(root_, alternative, value).empty(); };
      if (!std::ranges::any_of(rule, fits)) report(at, schema.value("description", "fits none of its alternatives"));
    } else if (keyword == "minimum") {
      expect(!value.is_number() || value >= rule, value, at, than(">="));
    } else if (keyword == "exclusiveMinimum") {
      expect(!value.is_number() || value > rule, value, at, than(">"));
    } else if (keyword == "exclusiveMaximum") {
      expect(!value.is_number() || value < rule, value, at, than("<"));
    } else if (keyword == "minLength") {
      const bool holds = !value.is_string() || value.get_ref<const std::string&>().size() >= rule;
      expect(holds, value, at, number_of("characters or more"));
    } else if (keyword == "pattern") {
      const bool holds =
          !value.is_string() || finds_pattern("schema", rule.get_ref<const std::string&>(), PatternSyntax::ecmascript,
                                              value.get_ref<const std::string&>());
      expect(holds, value, at, [&rule] { return "text like " + rule.get<std::string>(); });
    } else if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) check(rule, value[i], {&at, nullptr, i});
    } else if (keyword == "minItems") {
      expect(!value.is_array() || value.size() >= rule, value, at, number_of("items or more"));
    } else if (keyword == "maxItems") {
      expect(!value.is_array() || value.size() <= rule, value, at, number_of("items or fewer"));
    } else if (keyword == "required") {
      for (const json& name : rule) {
        if (value.is_object() && !value.contains(name.get_ref<const std::string&>()))
          report(at, fmt::format("lacks {}", name.dump()));
      }
    } else if (keyword == "properties") {
      if (!value.is_object()) return;
      for (const auto& [name, property] : rule.items()) {
        if (const auto member = value.find(name); member != value.end()) check(property, *member, {&at, &name});
      }
    } else if (keyword == "additionalProperties") {
      check_additional(rule, schema, value, at);
    } else if (keyword != "$schema" && keyword != "$id" && keyword != "title" && keyword != "description" &&
               keyword != "definitions") {
      throw std::logic_error(fmt::format("schema: unknown keyword '{}'", keyword));
    }
  }

  void check_additional(const json& rule, const json& schema, const json& value, const Place& at) {
    if (!value.is_object()) return;
    const auto named = schema.find("properties");
    for (const auto& [name, property] : value.items()) {
      if (named != schema.end() && named->contains(name)) continue;
      if (rule.is_boolean()) {
        if (!rule.get<bool>()) report(at, fmt::format("has the unknown field \"{}\"", name));
      } else {
        check(rule, property, {&at, &name});
      }
    }
  }

  const json& root_;
};

}  // namespace

std::vector<SchemaViolation> check_schema(const json& root, const json& schema, const json& document) {
  Checker checker(root);
  checker.check(schema, document, Place());
  return checker.violations;
}

}  // namespace parabench::results
