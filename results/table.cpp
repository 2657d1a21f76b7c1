#include "results/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "base/statistics.h"
#include "base/units_text.h"

namespace parabench {
namespace {

constexpr std::size_t columns = 11;
using Row = std::array<std::string, columns>;

// Two lines of headings: a quantity spans its predicted value, measured value and error.
const Row quantities = {"", "", "step time", "", "", "peak memory", "", "", "", "", ""};
const Row headings = {"case",     "status", "predicted",  "measured",  "error",   "predicted",
                      "measured", "error",  "equivalent", "samples/s", "speed-up"};

std::string percent(double ratio) { return std::isfinite(ratio) ? fmt::format("{:+.1f} %", 100 * ratio) : "-"; }

/// Three significant digits without a unit.
std::string plain(double value) {
  if (!std::isfinite(value)) return "-";
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

template <class Rank>
std::int64_t highest_peak(const std::vector<Rank>& ranks) {
  std::int64_t highest = 0;
  for (const Rank& rank : ranks) highest = std::max(highest, rank.peak_memory.total_counted());
  return highest;
}

std::string memory(std::int64_t bytes) { return bytes == 0 ? "-" : human_bytes(static_cast<double>(bytes)); }

std::string verdict(const Equivalence& equivalence) {
  if (equivalence.status == EquivalenceStatus::fail || equivalence.loss_agrees == false) return "FAIL";
  return equivalence.status == EquivalenceStatus::pass ? "pass" : "-";
}

/// The two errors of a record that was both predicted and measured.
struct Errors {
  double step_time, peak_memory;
};
std::optional<Errors> errors(const Record& record) {
  if (!record.predicted || !record.measured) return std::nullopt;
  const double time = record.measured->step_time_s.median;
  const auto bytes = static_cast<double>(highest_peak(record.measured->ranks));
  return Errors{(record.predicted->step_time_s - time) / time,
                (static_cast<double>(highest_peak(record.predicted->ranks)) - bytes) / bytes};
}

/// "model/dataset/", the part of an id that a group of rows shares.
std::string_view group(std::string_view id) { return id.substr(0, id.find('/', id.find('/') + 1) + 1); }

/// The line above a group's rows. Emulated ones stand apart, under one that says what their times are.
std::string heading(const Record& record) {
  return fmt::format("{}{}", group(record.id),
                     is_emulated(record.parameters) ? "  on emulated devices, which wait for modelled times" : "");
}

Row row(const Record& record) {
  Row cells;
  cells.fill("-");
  cells[0] = "  " + record.id.substr(group(record.id).size());
  cells[1] = to_text(record.status);
  if (record.predicted) {
    cells[2] = human_seconds(record.predicted->step_time_s);
    cells[5] = memory(highest_peak(record.predicted->ranks));
  }
  if (record.measured) {
    cells[3] = human_seconds(record.measured->step_time_s.median);
    cells[6] = memory(highest_peak(record.measured->ranks));
    cells[9] = plain(record.measured->throughput_samples_per_s);
    if (record.measured->baseline) cells[10] = plain(record.measured->baseline->speedup) + " x";
  }
  if (const auto both = errors(record)) {
    cells[4] = percent(both->step_time);
    cells[7] = percent(both->peak_memory);
  }
  cells[8] = verdict(record.equivalence);
  return cells;
}

/// The id and the status to the left, figures to the right; no blanks at the end of a line.
void append(std::string& text, const Row& cells, const std::array<std::size_t, columns>& widths) {
  std::string line;
  for (std::size_t c = 0; c < columns; ++c) {
    if (c > 0) line += "  ";
    line += c < 2 ? fmt::format("{:<{}}", cells[c], widths[c]) : fmt::format("{:>{}}", cells[c], widths[c]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + "\n";
}

/// "mean absolute error over 5 cases: step time 7.3 %, peak memory 4.1 %".
std::string summary(std::span<const Record> records, bool emulated) {
  std::vector<double> time, bytes;
  for (const Record& record : records) {
    if (is_emulated(record.parameters) != emulated) continue;
    const auto both = errors(record);
    if (!both) continue;
    if (std::isfinite(both->step_time)) time.push_back(std::abs(both->step_time));
    if (std::isfinite(both->peak_memory)) bytes.push_back(std::abs(both->peak_memory));
  }
  if (time.empty()) return "";
  std::string line = fmt::format("mean absolute error over {} {}case{}: step time {:.1f} %", time.size(),
                                 emulated ? "emulated " : "", time.size() == 1 ? "" : "s", 100 * mean(time));
  if (!bytes.empty()) line += fmt::format(", peak memory {:.1f} %", 100 * mean(bytes));
  return line + "\n";
}

}  // namespace

std::string results_table(std::span<const Record> records) {
  std::vector<Row> rows;
  for (const Record& record : records) rows.push_back(row(record));
  std::array<std::size_t, columns> widths{};
  for (std::size_t c = 0; c < columns; ++c) {
    widths[c] = std::max(headings[c].size(), quantities[c].size());
    for (const Row& cells : rows) widths[c] = std::max(widths[c], cells[c].size());
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
    if (!records[i].reason.empty()) text += fmt::format("    {}: {}\n", to_text(records[i].status), records[i].reason);
    if (verdict(records[i].equivalence) == "FAIL" && !records[i].equivalence.reason.empty()) {
      text += fmt::format("    equivalence: {}\n", records[i].equivalence.reason);
    }
  }
  return text + summary(records, false) + summary(records, true);
}

}  // namespace parabench
