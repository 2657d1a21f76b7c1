// Words without the blanks around them.
#pragma once

#include <algorithm>
#include <string_view>

namespace parabench {

/// `text` without those of `blanks` at either end.
constexpr std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t first = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

}  // namespace parabench
