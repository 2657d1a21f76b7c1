// The option --emulate: what operations cost on emulated devices.
#pragma once

#include <string>
#include <string_view>

#include "analytic/costs/emulation.h"
#include "base/case.h"

namespace parabench::suite {

/// Any of "unit:2ms", "rate:1Gbit" (per second, each way) and, with a rate, "latency:50us", in any order, joined by
/// commas. Throws usage_error.
analytic::EmulatedCosts parse_emulate(std::string_view text);
/// Its inverse: "unit:0.002s,rate:1Gbit"; "" for nothing.
std::string emulate_text(const analytic::EmulatedCosts& emulated);
/// Throws usage_error for a case on another device where something was given.
void check_emulate_option(const Case& spec, const analytic::EmulatedCosts& emulated);

}  // namespace parabench::suite
