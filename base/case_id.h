// The identity of a case as text: `model/dataset/strategy/np:N/batch:B[/key:value]...`.
#pragma once

#include <string>
#include <string_view>

#include "base/case.h"

namespace parabench {

/// Reads an id: keys in any order, defaults left out or spelled out. Throws usage_error with value, expectation and
/// hint for a wrong form, an unknown or repeated key, or a value outside its range. Whether models, data sets and
/// strategies exist, and which keys a strategy uses, is checked by their catalogues.
Case parse_case(std::string_view id);

/// The canonical id: keys in the order of case_keys(), defaults left out. parse_case is its inverse.
std::string to_id(const Case& spec);

/// Whether a filter selects a canonical id: a filter that is itself an id means that case alone, any other is an
/// ECMAScript regular expression searched in the id. Throws usage_error as finds_pattern does.
bool filter_matches(std::string_view filter, std::string_view id);

}  // namespace parabench
