#include "base/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/enum_text.h"
#include "base/error.h"

namespace parabench {
namespace {

int read_value(const std::string& owner, const std::string& text, const ChoiceParameter& parameter) {
  const std::string subject = fmt::format("{} of {}", parameter.name, owner);
  if (const auto& words = parameter.words; !words.empty())
    return static_cast<int>(index_of_name(subject, text, std::vector<std::string_view>(words.begin(), words.end())));
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < parameter.low || number > parameter.high)
    throw usage_error(subject, text, fmt::format("an integer from {} to {}", parameter.low, parameter.high),
                      fmt::format("try {}={}", parameter.name, parameter.value));
  return number;
}

}  // namespace

ChoiceParameter switch_parameter(std::string name, bool on) { return {std::move(name), on, 0, 1, {"off", "on"}}; }

std::string value_text(const ChoiceParameter& parameter) {
  return parameter.words.empty() ? std::to_string(parameter.value) : parameter.words[parameter.value];
}

std::size_t index_of_parameter(const std::string& owner, std::string_view name,
                               std::span<const std::string_view> known) {
  const std::string subject = "parameter of " + owner;
  if (known.empty()) throw usage_error(subject, name, "no parameters", "write " + owner);
  return index_of_name(subject, name, known);
}

void read_parameters(const NamedChoice& choice, std::span<ChoiceParameter> known) {
  std::vector<std::string_view> names, given;
  for (const ChoiceParameter& parameter : known) names.push_back(parameter.name);
  for (const auto& [name, text] : choice.parameters) {
    ChoiceParameter& parameter = known[index_of_parameter(choice.name, name, names)];
    if (std::ranges::find(given, name) != given.end())
      throw usage_error("parameter of " + choice.name, name, "each parameter once");
    given.push_back(name);
    parameter.value = read_value(choice.name, text, parameter);
  }
}

}  // namespace parabench
