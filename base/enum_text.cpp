#include "base/enum_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"

namespace parabench {

std::size_t index_of_name(std::string_view subject, std::string_view text, std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string expected = "one of";
  for (const std::string_view name : names) expected.append(name == names.front() ? " " : ", ").append(name);
  const std::vector<std::string> known(names.begin(), names.end());
  const std::string hint = nearest_hint(text, known);
  // Where nothing is near, the expectation lists the names already.
  throw usage_error(subject, text, expected, hint.starts_with("known") ? "" : hint);
}

}  // namespace parabench
