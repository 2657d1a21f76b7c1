#include "results/report/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/case_key.h"
#include "base/case_text.h"
#include "base/units_text.h"
#include "results/main_numbers.h"
#include "results/report/escape.h"

namespace parabench::results {
namespace {

/// Columns in order, with the cells of one row.
using Cells = std::vector<std::pair<std::string, std::string>>;

std::string number(double value) { return std::isfinite(value) ? print_number(value) : ""; }
std::string flag(bool value) { return value ? "true" : "false"; }

template <class Value, class Read>
std::string of(const Value& value, Read read) {
  return value ? read(*value) : std::string();
}

void add_case(Cells& cells, const Case& spec) {
  cells.emplace_back("model", csv_text(to_text(spec.model)));
  cells.emplace_back("dataset", csv_text(to_text(spec.dataset)));
  cells.emplace_back("strategy", csv_text(to_text(spec.strategy)));
  for (const CaseKey& key : case_keys()) {
    const std::string text = value_text(spec, key);
    const bool is_size = key.type == KeyType::size && !text.empty();  // in bytes, as in results files
    cells.emplace_back(key.name, csv_text(is_size ? std::to_string(parse_bytes(key.name, text).value) : text));
  }
}

void add_interval(Cells& cells, const std::string& low, const std::string& high,
                  const std::optional<std::pair<double, double>>& interval) {
  cells.emplace_back(low, interval ? number(interval->first) : "");
  cells.emplace_back(high, interval ? number(interval->second) : "");
}

void add_scalings(Cells& cells, const ReportRow& row) {
  for (const ScalingKind kind : enum_values<ScalingKind>) {
    const auto found = std::ranges::find(row.scalings, kind, &Scaling::kind);
    const bool is = found != row.scalings.end();
    const Scaling scaling = is ? *found : Scaling{};
    std::string name(to_text(kind));
    std::ranges::replace(name, '-', '_');
    cells.emplace_back("speedup_over_" + name, is ? number(scaling.speedup) : "");
    add_interval(cells, "speedup_low_over_" + name, "speedup_high_over_" + name, scaling.speedup_interval);
    cells.emplace_back("predicted_speedup_over_" + name, of(scaling.predicted_speedup, number));
    cells.emplace_back("efficiency_over_" + name, is ? number(scaling.efficiency) : "");
    add_interval(cells, "efficiency_low_over_" + name, "efficiency_high_over_" + name, scaling.efficiency_interval);
  }
}

Cells cells_of(const Report& report, const ReportRow& row) {
  const Record& record = report.record(row);
  Cells cells;
  cells.emplace_back("file", csv_text(report.files[row.file].label));
  cells.emplace_back("id", csv_text(record.id));
  add_case(cells, record.parameters);
  cells.emplace_back("status", to_text(record.status));
  cells.emplace_back("reason", csv_text(record.reason));
  cells.emplace_back("equivalence", to_text(record.equivalence.status));
  cells.emplace_back("reference", csv_text(record.equivalence.reference));
  cells.emplace_back("emulate", csv_text(record.emulate));
  cells.emplace_back("counts", flag(row.counts));
  cells.emplace_back("why_not", csv_text(row.why_not));
  cells.emplace_back("plan_hash", record.plan ? csv_text(record.plan->hash) : "");
  for (const MainNumber& one : main_numbers()) cells.emplace_back(full_name(one), of(one.of(record), print_number));
  cells.emplace_back("measured_inside_predicted", of(row.inside, flag));
  add_scalings(cells, row);
  cells.emplace_back("group", row.group ? csv_text(report.groups[*row.group]) : "");
  cells.emplace_back("on_measured_front", row.group ? flag(row.on_measured_front) : "");
  cells.emplace_back("on_predicted_front", row.group ? flag(row.on_predicted_front) : "");
  const ResultsFile& file = report.files[row.file].results;
  cells.emplace_back("date", csv_text(file.context.date));
  cells.emplace_back("version", csv_text(file.program.version));
  cells.emplace_back("git", csv_text(file.program.git));
  cells.emplace_back("launcher", csv_text(file.context.launcher));
  cells.emplace_back("reproduce", csv_text(record.reproduce));
  return cells;
}

template <class Member>
std::string line(const Cells& cells, Member member) {
  std::vector<std::string> texts;
  for (const auto& cell : cells) texts.push_back(cell.*member);
  return fmt::format("{}\n", fmt::join(texts, ","));
}

}  // namespace

std::string report_csv(const Report& report) {
  using Cell = Cells::value_type;
  std::string out;
  for (const ReportRow& row : report.rows) {
    const Cells cells = cells_of(report, row);
    if (out.empty()) out = line(cells, &Cell::first);
    out += line(cells, &Cell::second);
  }
  return out;
}

}  // namespace parabench::results
