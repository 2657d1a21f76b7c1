#include "suite/run/emulate_option.h"

#include <fmt/format.h>

#include "base/case_id.h"
#include "base/error.h"
#include "base/units_text.h"

namespace parabench::suite {
namespace {

constexpr std::string_view option = "--emulate", prefix = "unit:";

}  // namespace

double parse_unit(std::string_view text) {
  const bool known = text.starts_with(prefix);
  const double seconds = known ? parse_seconds(option, text.substr(prefix.size())).value : 0;
  if (seconds > 0) return seconds;
  throw usage_error(option, text, "unit: and the length of a unit", "try --emulate unit:2ms");
}

std::string unit_text(double unit_s) { return fmt::format("{}{}s", prefix, print_number(unit_s)); }

void check_emulate_option(const Case& spec, std::optional<double> unit_s) {
  if (!unit_s || is_emulated(spec)) return;
  throw usage_error(option, unit_text(*unit_s), fmt::format("cases with device:emulated alone, not {}", to_id(spec)),
                    "leave out the case or the option");
}

}  // namespace parabench::suite
