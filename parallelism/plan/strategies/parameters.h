// What a case says in brackets behind its strategy's name.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "base/case.h"

namespace parabench::plan {

/// The value of a parameter of the case's strategy: the one given, else the usual one of the strategy's row.
/// Precondition: the row has the parameter.
std::string parameter_text(const Case& spec, std::string_view name);

/// The same as a number from `least` to `most`. Throws usage_error with what the row says that the parameter accepts.
int parameter_number(const Case& spec, std::string_view name, int most = std::numeric_limits<int>::max(),
                     int least = 1);

}  // namespace parabench::plan
