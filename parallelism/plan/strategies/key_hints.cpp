#include "parallelism/plan/strategies/key_hints.h"

#include <iterator>

#include "base/error.h"

namespace parabench::plan {

std::string key_value(std::string_view key, int value) { return std::string(key) + ':' + std::to_string(value); }

void check_positive(std::string_view key, int value) {
  if (value >= 1) return;
  throw usage_error(key, std::to_string(value), accepted_text(find_case_key(key)), "try " + key_value(key, 1));
}

bool has_default(const Case& spec, const CaseKey& key) { return value_text(spec, key) == default_text(key, spec); }

void refuse_value(const Case& spec, const CaseKey& key, const std::string& why, const std::string& hint) {
  const std::string standard = default_text(key, spec);
  throw usage_error(key.name, value_text(spec, key), (standard.empty() ? "no value" : "the default " + standard) + why,
                    hint);
}

std::set<int> divisors_of(int number) {
  std::set<int> divisors;
  for (int d = 1; d <= number / d; ++d) {
    if (number % d == 0) divisors.insert({d, number / d});
  }
  return divisors;
}

std::string neighbours_hint(std::string_view key, int value, const std::set<int>& possible) {
  const auto above = possible.upper_bound(value);
  return "try " + key_value(key, *std::prev(above)) + (above == possible.end() ? "" : " or " + key_value(key, *above));
}

}  // namespace parabench::plan
