#include "results/exchange_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/case_text.h"
#include "base/columns.h"
#include "base/units_text.h"
#include "results/table.h"

namespace parabench::results {
namespace {

constexpr std::size_t columns = 9;
using Row = std::array<std::string, columns>;
constexpr std::size_t left_columns = 2;

// Two lines of headings: a quantity spans its columns.
const Row quantities = {"", "", "time", "", "", "GB/s", "", "predicted", ""};
const Row headings = {"size", "algorithm", "median", "p25", "p75", "algbw", "busbw", "time", "error"};

/// "all-reduce among 4 ranks", "all-reduce among 2 groups of 2 ranks, fp64".
std::string heading(const ExchangeRecord& record) {
  const ExchangeSetting& setting = record.setting;
  const int members = record.exchange.members, groups = setting.np / members;
  std::string text = fmt::format("{} among ", to_text(record.exchange.kind));
  if (groups > 1) text += fmt::format("{} groups of ", groups);
  text += fmt::format("{} ranks, {}", members, to_text(setting.precision));
  if (setting.comm != ExchangeSetting{}.comm) text += fmt::format(", {}", to_text(setting.comm));
  return text;
}

/// "ring", "auto: window" where the word says something else than what was done.
std::string algorithm(const ExchangeRecord& record) {
  const std::string_view asked = is_message(record.exchange.kind) ? "" : to_text(record.setting.reduce);
  if (record.algorithm.empty() || record.algorithm == asked) return std::string(asked.empty() ? "-" : asked);
  return asked.empty() ? record.algorithm : fmt::format("{}: {}", asked, record.algorithm);
}

std::string giga(const std::optional<double>& bytes_per_s) {
  return bytes_per_s ? plain_number(*bytes_per_s / 1e9) : "-";
}

Row row(const ExchangeRecord& record) {
  Row cells;
  cells.fill("-");
  cells[0] = "  " + print_bytes(Bytes(record.exchange.bytes));
  cells[1] = algorithm(record);
  if (record.time_s) {
    cells[2] = human_seconds(record.time_s->median);
    cells[3] = human_seconds(record.time_s->p25);
    cells[4] = human_seconds(record.time_s->p75);
    cells[5] = giga(algorithm_bandwidth(record));
    cells[6] = giga(bus_bandwidth(record));
  }
  if (record.predicted_time_s) cells[7] = human_seconds(*record.predicted_time_s);
  if (const auto error = time_error(record)) cells[8] = fmt::format("{:+.1f} %", 100 * *error);
  return cells;
}

void append(std::string& text, const Row& cells, const std::array<std::size_t, columns>& widths) {
  text += aligned_line(cells, widths, [](std::size_t c) { return c < left_columns; });
}

/// Every different text about predictions, once, in the order in which rows have them.
std::string origins(std::span<const ExchangeRecord> records) {
  std::vector<std::string_view> told;
  std::string text;
  for (const ExchangeRecord& record : records) {
    if (record.prediction.empty() || std::ranges::find(told, record.prediction) != told.end()) continue;
    told.push_back(record.prediction);
    text += fmt::format("{}: {}\n", record.predicted_time_s ? "predicted" : "not predicted", record.prediction);
  }
  return text;
}

}  // namespace

std::string exchange_table(std::span<const ExchangeRecord> records) {
  std::vector<Row> rows;
  for (const ExchangeRecord& record : records) rows.push_back(row(record));
  std::array<std::size_t, columns> widths{};
  for (const Row& cells : {quantities, headings}) widen(widths, cells);
  for (const Row& cells : rows) widen(widths, cells);
  std::string text, current;
  append(text, quantities, widths);
  append(text, headings, widths);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (const std::string above = heading(records[i]); above != current) {
      current = above;
      text += current + "\n";
    }
    append(text, rows[i], widths);
    if (!records[i].reason.empty()) text += fmt::format("    {}: {}\n", to_text(records[i].status), records[i].reason);
  }
  return text + origins(records);
}

}  // namespace parabench::results
