#include "base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <vector>

namespace parabench {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// Damerau-Levenshtein distance with adjacent transpositions (optimal string alignment).
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

std::string message(std::string_view subject, std::string_view value, std::string_view expected,
                    std::string_view hint) {
  std::string text = fmt::format("{}: got '{}', expected {}", subject, value, expected);
  if (!hint.empty()) text += fmt::format("; {}", hint);
  return text;
}

}  // namespace

Error::Error(ExitCode code, std::string_view subject, std::string_view value, std::string_view expected,
             std::string_view hint)
    : std::runtime_error(message(subject, value, expected, hint)), code_(code) {}

Error usage_error(std::string_view subject, std::string_view value, std::string_view expected, std::string_view hint) {
  return Error(ExitCode::usage, subject, value, expected, hint);
}

Error environment_error(std::string_view subject, std::string_view value, std::string_view expected,
                        std::string_view hint) {
  return Error(ExitCode::environment, subject, value, expected, hint);
}

std::string nearest_hint(std::string_view given, std::span<const std::string> known) {
  const std::string wanted = lower(given);
  const std::string* nearest = nullptr;
  int nearest_distance = std::numeric_limits<int>::max();
  for (const std::string& name : known) {
    const int distance = edit_distance(wanted, lower(name));
    // A third of the longer word: one slip in three letters, but no guess that shares almost nothing.
    const int limit = std::max<int>(1, static_cast<int>(std::max(wanted.size(), name.size()) / 3));
    if (distance <= limit && distance < nearest_distance) {
      nearest = &name;
      nearest_distance = distance;
    }
  }
  if (nearest) return fmt::format("did you mean '{}'?", *nearest);
  return fmt::format("known: {}", fmt::join(known, ", "));
}

}  // namespace parabench
