#include "base/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/error.h"

namespace parabench {
namespace {

int integer(const std::string& text, const ChoiceParameter& parameter) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < parameter.low || number > parameter.high)
    throw usage_error(parameter.name, text, fmt::format("an integer from {} to {}", parameter.low, parameter.high));
  return number;
}

}  // namespace

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
    found->value = integer(text, *found);
  }
}

}  // namespace parabench
