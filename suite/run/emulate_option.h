// The option --emulate: what operations cost on emulated devices.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/case.h"

namespace parabench::suite {

/// Seconds of a unit: "unit:2ms". Throws usage_error.
double parse_unit(std::string_view text);
/// Its inverse: "unit:0.002s".
std::string unit_text(double unit_s);
/// Throws usage_error for a case on another device where the option was given.
void check_emulate_option(const Case& spec, std::optional<double> unit_s);

}  // namespace parabench::suite
