#include "base/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.h"

namespace parabench {
namespace {

int read_value(const std::string& text, const ChoiceParameter& parameter) {
  if (const auto& words = parameter.words; !words.empty()) {
    const auto found = std::ranges::find(words, text);
    if (found == words.end())
      throw usage_error(parameter.name, text, fmt::format("{}", fmt::join(words, " or ")), nearest_hint(text, words));
    return static_cast<int>(found - words.begin());
  }
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < parameter.low || number > parameter.high)
    throw usage_error(parameter.name, text, fmt::format("an integer from {} to {}", parameter.low, parameter.high));
  return number;
}

}  // namespace

ChoiceParameter switch_parameter(std::string name, bool on) { return {std::move(name), on, 0, 1, {"off", "on"}}; }

std::string value_text(const ChoiceParameter& parameter) {
  return parameter.words.empty() ? std::to_string(parameter.value) : parameter.words[parameter.value];
}

void read_parameters(const NamedChoice& choice, std::span<ChoiceParameter> known) {
  std::vector<std::string> names, given;
  for (const ChoiceParameter& parameter : known) names.push_back(parameter.name);
  for (const auto& [name, text] : choice.parameters) {
    const auto found = std::ranges::find(known, name, &ChoiceParameter::name);
    if (found == known.end())
      throw usage_error("parameter of " + choice.name, name,
                        known.empty() ? "no parameters" : fmt::format("one of: {}", fmt::join(names, ", ")),
                        known.empty() ? "write " + choice.name : nearest_hint(name, names));
    if (std::ranges::find(given, name) != given.end())
      throw usage_error("parameter of " + choice.name, name, "each parameter once");
    given.push_back(name);
    found->value = read_value(text, *found);
  }
}

}  // namespace parabench
