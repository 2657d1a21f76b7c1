// Figures of merit as lines that harnesses find by regular expressions: ReFrame, Ramble.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/enum_text.h"
#include "results/record.h"

namespace parabench::results {

enum class Outcome { pass, fail, skip };
constexpr std::array<std::string_view, 3> names_of(Outcome) { return {"PASS", "FAIL", "SKIP"}; }

/// fail where a record neither counts (summary.h) nor was skipped, skip where all were skipped, else pass.
Outcome outcome_of(std::span<const Record> records);

/// Of each record "FOM case: ID" and, where it counts (summary.h), "FOM NAME: NUMBER" for every main number that it has
/// (main_numbers.h), names with their unit.
std::string fom_lines(std::span<const Record> records);

/// "PARABENCH_RESULT: PASS".
std::string outcome_line(Outcome outcome);

}  // namespace parabench::results
