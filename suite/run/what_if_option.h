// The option --what-if: what a machine would have to be.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "analytic/costs/what_if.h"
#include "base/case.h"

namespace parabench::suite {

/// What --help says of its names.
std::string what_if_help();

/// "bandwidth=x2,latency=10us,flops=x1.5,cores=64": changes of the names of what_if_help(), joined by commas, each at
/// most once; xF is a factor, anything else what the figure becomes. Throws usage_error for an unknown name, with the
/// nearest one, and for what is no factor or value above 0.
analytic::WhatIf parse_what_if(std::string_view text);

/// Its inverse by name: {"bandwidth", "x2"}; what does not change is left out.
std::map<std::string, std::string> what_if_texts(const analytic::WhatIf& what_if);

/// Throws usage_error where the host's cores change and the case does not compute on them, and where uplinks change of
/// a machine that has none.
void check_what_if(const Case& spec, const analytic::WhatIf& what_if, const analytic::MachineInfo& machine);

}  // namespace parabench::suite
