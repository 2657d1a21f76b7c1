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

/// The case as its id is printed: parameters of its strategy in the order of the row, each value by its one text, usual
/// values left out. What check_case() refuses stays as it is.
Case canonical(Case spec);

/// StrategyParameter::one_text of bytes, times and whole numbers: "64MiB", "1ms", "4".
std::string one_text_of_bytes(std::string_view text);
std::string one_text_of_seconds(std::string_view text);
std::string one_text_of_number(std::string_view text);

}  // namespace parabench::plan
