// What messages about impossible values of a case's keys say and suggest.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/case_key.h"

namespace parabench::plan {

/// "np:4".
std::string key_value(std::string_view key, int value);
/// Throws usage_error for a key's value below 1.
void check_positive(std::string_view key, int value);
bool has_default(const Case& spec, const CaseKey& key);
/// Throws usage_error for a key's value that is not its default: "expected the default 4" and `why`.
[[noreturn]] void refuse_value(const Case& spec, const CaseKey& key, const std::string& why, const std::string& hint);
/// Of a number from 1 on, ascending.
std::set<int> divisors_of(int number);
/// "try shard:2 or shard:4": the values of a key next to an impossible one, of which there is one below.
std::string neighbours_hint(std::string_view key, int value, const std::set<int>& possible);

}  // namespace parabench::plan
