// Regular expressions that users give.
#pragma once

#include <string_view>

namespace parabench {

enum class PatternSyntax { ecmascript, extended };

/// An expression takes memory by its length, and its compiler a stack.
inline constexpr std::size_t longest_pattern = 1000;

/// Whether `pattern` is found somewhere in `text`, in time linear in the text. Throws usage_error, `subject` being what
/// the pattern was given as, for one that is malformed, longer than longest_pattern, or refers back (`(a)\1`), which no
/// such time allows.
bool finds_pattern(std::string_view subject, std::string_view pattern, PatternSyntax syntax, std::string_view text);

}  // namespace parabench
