#include "parallelism/plan/strategies/parameters.h"

#include <charconv>

#include "base/error.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::plan {

std::string parameter_text(const Case& spec, std::string_view name) {
  for (const auto& [given, value] : spec.strategy.parameters)
    if (given == name) return value;
  return std::string(find_strategy(spec.strategy.name).find_parameter(name)->usual);
}

int parameter_number(const Case& spec, std::string_view name, int most, int least) {
  const std::string text = parameter_text(spec, name);
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc() && end == text.data() + text.size() && number >= least && number <= most) return number;
  const StrategyParameter& known = *find_strategy(spec.strategy.name).find_parameter(name);
  std::string subject(name), hint = "try ";
  subject += " of " + spec.strategy.name;
  hint += name;
  hint += '=';
  hint += known.usual;
  throw usage_error(subject, text, std::string(known.expected), hint);
}

}  // namespace parabench::plan
