#include "parallelism/plan/strategies/parameters.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units_text.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::plan {

namespace {

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string parameter_text(const Case& spec, std::string_view name) {
  for (const auto& [given, value] : spec.strategy.parameters)
    if (given == name) return value;
  return std::string(find_strategy(spec.strategy.name).find_parameter(name)->usual);
}

int parameter_number(const Case& spec, std::string_view name, int most, int least) {
  const std::string text = parameter_text(spec, name);
  const std::optional<int> number = whole_number(text);
  if (number && *number >= least && *number <= most) return *number;
  const StrategyParameter& known = *find_strategy(spec.strategy.name).find_parameter(name);
  std::string subject(name), hint = "try ";
  subject += " of " + spec.strategy.name;
  hint += name;
  hint += '=';
  hint += known.usual;
  throw usage_error(subject, text, std::string(known.expected), hint);
}

Case canonical(Case spec) {
  const auto row = std::ranges::find(strategies(), spec.strategy.name, &Strategy::name);
  if (row == strategies().end()) return spec;
  std::vector<std::pair<std::string, std::string>> given = std::exchange(spec.strategy.parameters, {}), unknown;
  for (auto& [name, value] : given) {
    const StrategyParameter* known = row->find_parameter(name);
    if (!known) {
      unknown.emplace_back(name, value);
      continue;
    }
    try {
      if (known->one_text) value = known->one_text(value);
    } catch (const Error&) {
      // Not a value of it, which its strategy tells better.
    }
  }
  for (const StrategyParameter& known : row->parameters)
    for (const auto& [name, value] : given)
      if (name == known.name && value != known.usual) spec.strategy.parameters.emplace_back(name, value);
  std::ranges::move(unknown, std::back_inserter(spec.strategy.parameters));
  return spec;
}

std::string one_text_of_bytes(std::string_view text) { return print_bytes(parse_bytes("size", text)); }

std::string one_text_of_seconds(std::string_view text) { return print_seconds(parse_seconds("time", text)); }

std::string one_text_of_number(std::string_view text) {
  const std::optional<int> number = whole_number(text);
  return number ? std::to_string(*number) : std::string(text);
}

}  // namespace parabench::plan
