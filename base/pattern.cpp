#include "base/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <string>

#include "base/error.h"

namespace parabench {
namespace {

/// Whether a count or a reference to a group, which libstdc++ reads without looking for overflow, has too many digits.
bool has_long_number(std::string_view pattern) {
  constexpr std::size_t most_digits = 6;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{' && pattern[i] != ',' && pattern[i] != '\\') continue;
    const std::size_t end = std::min(pattern.find_first_not_of("0123456789", i + 1), pattern.size());
    if (end - i - 1 > most_digits) return true;
  }
  return false;
}

}  // namespace

bool finds_pattern(std::string_view subject, std::string_view pattern, PatternSyntax syntax, std::string_view text) {
  const bool is_extended = syntax == PatternSyntax::extended;
  const std::string expected = is_extended ? "an extended regular expression" : "a regular expression or a case id";
  if (pattern.size() > longest_pattern)
    throw usage_error(subject, fmt::format("{}... of {} characters", pattern.substr(0, 40), pattern.size()),
                      fmt::format("{} of at most {} characters", expected, longest_pattern));
  // libstdc++ looks one character beyond an expression that ends in '(', and takes NUL for an operator.
  const std::string expression(pattern);
  if (pattern.find('\0') != pattern.npos) throw usage_error(subject, expression.c_str(), expected, "it holds a NUL");
  if (has_long_number(pattern)) throw usage_error(subject, pattern, expected, "counts have at most six digits");
  try {
    // By default libstdc++ goes back and forth by recursion: one step deeper for each character, and some expressions
    // of 20 characters never end.
    const auto flags =
        (is_extended ? std::regex::extended : std::regex::ECMAScript) | std::regex_constants::__polynomial;
    return std::regex_search(text.begin(), text.end(), std::regex(expression, flags));
  } catch (const std::regex_error& error) {
    throw usage_error(subject, pattern, expected, error.what());
  }
}

}  // namespace parabench
