// Numbers with their nouns.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace parabench {

/// "1 case", "3 cases"; "2 launches" of ("launch", "launches").
template <std::integral Number>
std::string counted(Number number, std::string_view one, std::string_view several = {}) {
  std::string text = std::to_string(number);
  text += ' ';
  text += number == 1 || several.empty() ? one : several;
  if (number != 1 && several.empty()) text += 's';
  return text;
}

}  // namespace parabench
