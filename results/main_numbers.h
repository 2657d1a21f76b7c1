// The numbers of a record that tables and monitors take, each with its name and unit: one list for every export.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/enum_text.h"
#include "results/record.h"

namespace parabench::results {

/// SI, as the names in results files end.
enum class NumberUnit { none, s, bytes, samples_per_s, flops_per_s, relative };
constexpr std::array<std::string_view, 6> names_of(NumberUnit) {
  return {"", "s", "bytes", "samples_per_s", "flops_per_s", "relative"};
}

struct MainNumber {
  std::string_view name;  ///< without its unit: "step_time_median"
  NumberUnit unit;
  std::string_view help;                              ///< one sentence without its full stop
  std::optional<double> (*of)(const Record& record);  ///< nullopt where the record has none, or none that is finite
};

std::span<const MainNumber> main_numbers();

/// With its unit, as results files write it: "step_time_median_s".
std::string full_name(const MainNumber& number);

}  // namespace parabench::results
