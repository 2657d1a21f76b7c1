#include "results/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "base/counted.h"
#include "base/units_text.h"
#include "results/summary.h"
#include "results/training_note.h"

namespace parabench::results {
namespace {

constexpr std::size_t columns = 13, paired_column = 6;
using Row = std::array<std::string, columns>;

// Two lines of headings: a quantity spans its predicted value, measured value and error.
const Row quantities = {"", "", "step time", "", "", "", "", "peak memory", "", "", "", "", ""};
const Row headings = {"case",      "status",   "predicted", "measured",   "error",     "noise",   "paired error",
                      "predicted", "measured", "error",     "equivalent", "samples/s", "speed-up"};

std::string percent(double ratio) { return std::isfinite(ratio) ? fmt::format("{:+.1f} %", 100 * ratio) : "-"; }

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

Row row(const Record& record) {
  Row cells;
  cells.fill("-");
  cells[0] = "  " + record.id.substr(id_group(record.id).size());
  cells[1] = to_text(record.status);
  if (record.predicted) {
    cells[2] = human_seconds(record.predicted->step_time_s);
    cells[7] = memory(peak_bytes(*record.predicted));
  }
  if (record.measured) {
    cells[3] = human_seconds(record.measured->step_time_s.median);
    cells[8] = measured_memory(record);
    cells[11] = plain_number(record.measured->throughput_samples_per_s);
    if (record.measured->baseline) cells[12] = plain_number(record.measured->baseline->speedup) + " x";
  }
  if (const auto both = case_error(record)) {
    cells[4] = percent(both->step_time);
    cells[9] = percent(both->peak_memory);
  }
  if (record.error) {
    cells[5] = noise_text(*record.error);
    if (record.error->paired_step_time_relative)
      cells[paired_column] = percent(*record.error->paired_step_time_relative);
  }
  cells[10] = verdict(record);
  return cells;
}

/// The id and the status to the left, figures to the right; no blanks at the end of a line. Columns without a width are
/// left out.
void append(std::string& text, const Row& cells, const std::array<std::size_t, columns>& widths) {
  std::string line;
  for (std::size_t c = 0; c < columns; ++c) {
    if (widths[c] == 0) continue;
    if (c > 0) line += "  ";
    line += c < 2 ? fmt::format("{:<{}}", cells[c], widths[c]) : fmt::format("{:>{}}", cells[c], widths[c]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + "\n";
}

/// "mean absolute error over 5 cases: step time 7.3 %, peak memory 4.1 %".
std::string summary(const MeanError& mean) {
  const bool usual = mean.checked && !mean.emulated;
  std::string line =
      fmt::format("mean absolute error over {}: step time {:.1f} %",
                  counted(mean.cases, usual ? "case" : fmt::format("{} case", kind_of(mean))), 100 * mean.step_time);
  if (mean.paired) line += fmt::format(" (paired {:.1f} %)", 100 * *mean.paired);
  if (mean.peak_memory) line += fmt::format(", peak memory {:.1f} %", 100 * *mean.peak_memory);
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

std::string plain_number(double value) {
  if (!std::isfinite(value)) return "-";
  return std::abs(value) >= 99.95 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string_view id_group(std::string_view id) { return id.substr(0, id.find('/', id.find('/') + 1) + 1); }

std::string results_table(std::span<const Record> records) {
  std::vector<Row> rows;
  for (const Record& record : records) rows.push_back(row(record));
  std::array<std::size_t, columns> widths{};
  for (std::size_t c = 0; c < columns; ++c) {
    widths[c] = std::max(headings[c].size(), quantities[c].size());
    for (const Row& cells : rows) widths[c] = std::max(widths[c], cells[c].size());
  }
  if (std::ranges::all_of(records, [](const Record& r) { return r.paired.empty(); })) widths[paired_column] = 0;
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
