#include "results/fom.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units_text.h"
#include "results/main_numbers.h"
#include "results/summary.h"

namespace parabench::results {

Outcome outcome_of(std::span<const Record> records) {
  const auto skipped = [](const Record& record) { return record.status == Status::skipped; };
  const auto good = [&](const Record& record) { return counts(record) || skipped(record); };
  if (!std::ranges::all_of(records, good)) return Outcome::fail;
  return std::ranges::all_of(records, skipped) ? Outcome::skip : Outcome::pass;
}

std::string fom_lines(std::span<const Record> records) {
  std::string text;
  for (const Record& record : records) {
    text += fmt::format("FOM case: {}\n", record.id);
    if (!counts(record)) continue;
    for (const MainNumber& number : main_numbers()) {
      if (const auto value = number.of(record))
        text += fmt::format("FOM {}: {}\n", full_name(number), print_number(*value));
    }
  }
  return text;
}

std::string outcome_line(Outcome outcome) { return fmt::format("PARABENCH_RESULT: {}\n", to_text(outcome)); }

}  // namespace parabench::results
