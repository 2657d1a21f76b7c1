#include "suite/run/emulate_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/case_id.h"
#include "base/case_text.h"
#include "base/error.h"
#include "base/split.h"
#include "base/units_text.h"

namespace parabench::suite {
namespace {

constexpr std::string_view option = "--emulate";
constexpr std::array<std::string_view, 3> names{"unit", "rate", "latency"};

[[noreturn]] void refuse(std::string_view text) {
  throw usage_error(
      option, text,
      "unit:TIME, rate:RATE or both, and beside a rate latency:TIME; each at most once, and only a latency may be 0",
      "try --emulate unit:2ms or --emulate rate:1Gbit,latency:50us");
}

/// Elsewhere a bare number is seconds; beside a rate, which has none without its unit, nobody could tell.
double parse_time(std::string_view text) {
  const double seconds = parse_seconds(option, text).value;
  if (seconds > 0 && !std::isalpha(static_cast<unsigned char>(text.back())))
    throw usage_error(option, text, "a time with its unit", fmt::format("try {0}us, {0}ms or {0}s", text));
  return seconds;
}

}  // namespace

analytic::EmulatedCosts parse_emulate(std::string_view text) {
  std::array<std::optional<double>, names.size()> given;
  for (std::string_view part : split_at_commas(text)) {
    const std::size_t colon = std::min(part.find(':'), part.size());
    const auto found = std::ranges::find(names, part.substr(0, colon));
    if (found == names.end() || colon == part.size()) refuse(text);
    auto& value = given[found - names.begin()];
    if (value) refuse(text);
    const std::string_view number = part.substr(colon + 1);
    value = *found == "rate" ? parse_rate(option, number) : parse_time(number);
    if (*value == 0 && *found != "latency") refuse(text);
  }
  const auto& [unit_s, bytes_per_s, latency_s] = given;
  if (latency_s && !bytes_per_s) refuse(text);
  analytic::EmulatedCosts emulated{.unit_s = unit_s};
  if (bytes_per_s) emulated.link = {.latency_s = latency_s.value_or(0), .bytes_per_s = *bytes_per_s};
  return emulated;
}

std::string emulate_text(const analytic::EmulatedCosts& emulated) {
  std::vector<std::string> parts;
  const auto add_seconds = [&](std::string_view name, double seconds) {
    parts.push_back(fmt::format("{}:{}s", name, print_number(seconds)));
  };
  if (emulated.unit_s) add_seconds("unit", *emulated.unit_s);
  if (emulated.link) parts.push_back("rate:" + print_rate(emulated.link->bytes_per_s));
  if (emulated.link && emulated.link->latency_s > 0) add_seconds("latency", emulated.link->latency_s);
  return fmt::format("{}", fmt::join(parts, ","));
}

void check_emulate_option(const Case& spec, const analytic::EmulatedCosts& emulated) {
  if (emulated == analytic::EmulatedCosts{}) return;
  if (!is_emulated(spec))
    throw usage_error(option, emulate_text(emulated),
                      fmt::format("cases of device:emulated alone, not {}", to_id(spec)),
                      "add device:emulated to its keys; --where device=emulated leaves out cases of other devices");
  if (emulated.link && (spec.reduce == ReduceKind::window || spec.reduce == ReduceKind::hierarchical))
    throw usage_error(
        "reduce", to_text(spec.reduce),
        "auto, ring, halving-doubling or double-tree beside --emulate rate, where no two ranks share memory",
        "leave reduce out, or the rate");
}

}  // namespace parabench::suite
