// How the front program was called, for messages that say what to type.
#pragma once

#include <string>
#include <string_view>

namespace parabench {

/// The variable by which the script of a checkout tells the program how it was called itself. Ranks inherit it.
inline constexpr const char* called_variable = "PARABENCH_CALLED";

/// As it was called: "./parabench" in a checkout; without the variable "parabench".
std::string called();

/// The command to type: to_type("list --sets") is "./parabench list --sets" in a checkout.
std::string to_type(std::string_view words);

}  // namespace parabench
