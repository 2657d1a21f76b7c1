#include "results/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "base/columns.h"
#include "base/counted.h"
#include "base/units_text.h"
#include "results/summary.h"
#include "results/training_note.h"

namespace parabench::results {
namespace {

std::string memory(std::int64_t bytes) { return bytes == 0 ? "-" : human_bytes(static_cast<double>(bytes)); }

/// Counted bytes; of another product, which counts none, the process's own with a word for it.
std::string measured_memory(const Record& record) {
  const std::int64_t counted = peak_bytes(*record.measured), resident = resident_bytes(*record.measured);
  return counted > 0 || resident == 0 || is_emulated(record.parameters)
             ? memory(counted)
             : human_bytes(static_cast<double>(resident)) + " resident";
}

std::string verdict(const Record& record) {
  if (differs(record.equivalence)) return "FAIL";
  if (is_checked(record)) return "pass";
  return record.measured && !is_emulated(record.parameters) ? "unchecked" : "-";
}

/// The line above a group's rows. Emulated ones stand apart, under one that says what their times are.
std::string heading(const Record& record) {
  return fmt::format("{}{}", id_group(record.id),
                     is_emulated(record.parameters) ? "  on emulated devices, which wait for modelled times" : "");
}

/// One column: two lines of headings, in which a quantity spans its predicted value, measured value and error, and the
/// cell of a record, "-" where it has none.
struct Column {
  std::string_view quantity, heading;
  std::string (*cell)(const Record&);
  bool is_text = false;      ///< to the left, figures to the right
  bool is_optional = false;  ///< left out where no record has a value
};

std::string noise(const Record& record) {
  if (!record.error || !record.error->noise_floor) return "-";
  return noise_percent(*record.error->noise_floor, record.error->step_time_relative);
}

const std::array columns = {
    Column{"", "case", [](const Record& r) { return "  " + r.id.substr(id_group(r.id).size()); }, true},
    Column{"", "status", [](const Record& r) { return std::string(to_text(r.status)); }, true},
    Column{"step time", "predicted",
           [](const Record& r) { return r.predicted ? human_seconds(r.predicted->step_time_s) : "-"; }},
    Column{"", "measured",
           [](const Record& r) { return r.measured ? human_seconds(r.measured->step_time_s.median) : "-"; }},
    Column{"", "error",
           [](const Record& r) {
             const auto both = case_error(r);
             return both ? signed_percent(both->step_time) : "-";
           }},
    Column{"", "noise", noise, false, true},
    Column{"", "adjusted",
           [](const Record& r) {
             return r.error && r.error->adjusted ? signed_percent(r.error->adjusted->relative) : "-";
           },
           false, true},
    Column{"", "paired error",
           [](const Record& r) {
             const auto paired = r.error ? r.error->paired_step_time_relative : std::nullopt;
             return paired ? signed_percent(*paired) : "-";
           },
           false, true},
    Column{"peak memory", "predicted",
           [](const Record& r) { return r.predicted ? memory(peak_bytes(*r.predicted)) : "-"; }},
    Column{"", "measured", [](const Record& r) { return r.measured ? measured_memory(r) : "-"; }},
    Column{"", "error",
           [](const Record& r) {
             const auto both = case_error(r);
             return both ? signed_percent(both->peak_memory) : "-";
           }},
    Column{"", "equivalent", verdict},
    Column{"", "samples/s",
           [](const Record& r) { return r.measured ? plain_number(r.measured->throughput_samples_per_s) : "-"; }},
    Column{"", "speed-up",
           [](const Record& r) {
             return r.measured && r.measured->baseline ? plain_number(r.measured->baseline->speedup) + " x" : "-";
           }},
};
using Row = std::array<std::string, columns.size()>;

Row cells_of(const Record& record) {
  Row cells;
  std::ranges::transform(columns, cells.begin(), [&](const Column& column) { return column.cell(record); });
  return cells;
}

Row texts_of(std::string_view Column::*line) {
  Row cells;
  std::ranges::transform(columns, cells.begin(), [&](const Column& column) { return std::string(column.*line); });
  return cells;
}

void append(std::string& text, const Row& cells, const std::array<std::size_t, columns.size()>& widths) {
  text += aligned_line(cells, widths, [](std::size_t c) { return columns[c].is_text; });
}

/// "mean absolute error over 5 cases: step time 7.3 % (adjusted 5.2 %, paired 3.9 %), peak memory 4.1 %".
std::string summary(const MeanError& mean) {
  const bool usual = mean.checked && !mean.emulated;
  std::string line = fmt::format("mean absolute error over {}: step time {}",
                                 counted(mean.cases, usual ? "case" : fmt::format("{} case", kind_of(mean))),
                                 human_share(mean.step_time));
  std::vector<std::string> others;
  if (mean.adjusted) others.push_back("adjusted " + human_share(*mean.adjusted));
  if (mean.paired) others.push_back("paired " + human_share(*mean.paired));
  if (!others.empty()) line += fmt::format(" ({})", fmt::join(others, ", "));
  if (mean.peak_memory) line += ", peak memory " + human_share(*mean.peak_memory);
  return line + "\n";
}

/// How many rows have a time that does not count.
std::string left_out(std::span<const Record> records) {
  const auto rows = std::ranges::count_if(records, [](const Record& r) { return r.measured && !counts(r); });
  if (rows == 0) return "";
  return fmt::format("{} with a measured time {} not count: failed, cut short, or not equivalent\n",
                     counted(rows, "row"), rows == 1 ? "does" : "do");
}

}  // namespace

std::string signed_percent(double ratio) { return std::isfinite(ratio) ? fmt::format("{:+.1f} %", 100 * ratio) : "-"; }

std::string plain_number(double value) {
  if (!std::isfinite(value)) return "-";
  return std::abs(value) >= 99.95 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string_view id_group(std::string_view id) { return id.substr(0, id.find('/', id.find('/') + 1) + 1); }

std::string results_table(std::span<const Record> records) {
  const Row quantities = texts_of(&Column::quantity), headings = texts_of(&Column::heading);
  std::vector<Row> rows;
  for (const Record& record : records) rows.push_back(cells_of(record));
  std::array<std::size_t, columns.size()> widths{};
  for (const Row& cells : {quantities, headings}) widen(widths, cells);
  for (const Row& cells : rows) widen(widths, cells);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const auto empty = [c](const Row& cells) { return cells[c] == "-"; };
    if (columns[c].is_optional && std::ranges::all_of(rows, empty)) widths[c] = 0;  // left out
  }
  std::string text;
  append(text, quantities, widths);
  append(text, headings, widths);
  std::string current;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (heading(records[i]) != current) {
      current = heading(records[i]);
      text += current + "\n";
    }
    append(text, rows[i], widths);
    if (const std::string note = training_note(records[i], records); !note.empty())
      text += fmt::format("    not sequential training ({}): {}\n", records[i].equivalence.reference, note);
    if (!records[i].reason.empty()) text += fmt::format("    {}: {}\n", to_text(records[i].status), records[i].reason);
    if (differs(records[i].equivalence) && !records[i].equivalence.reason.empty()) {
      text += fmt::format("    equivalence: {}\n", records[i].equivalence.reason);
    }
  }
  for (const MeanError& mean : mean_errors(records)) text += summary(mean);
  return text + left_out(records);
}

}  // namespace parabench::results
