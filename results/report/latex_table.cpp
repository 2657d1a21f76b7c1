#include "results/report/latex_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/counted.h"
#include "base/units_text.h"
#include "results/report/escape.h"
#include "results/table.h"
#include "results/training_note.h"

namespace parabench::results {
namespace {

constexpr std::size_t most_rows_of_a_page = 40;

/// "-18.9": a minus, not a hyphen.
std::string percent(double ratio) {
  return std::isfinite(ratio) ? fmt::format("${:+.1f}$", 100 * ratio) : std::string("--");
}
constexpr std::string_view within_mark = "^{\\ast}";
/// "3.2", "\sim 3.2" where it is the calibration's, with within_mark where the error is_within() it.
std::string noise(const NoiseFloor& floor, double error) {
  if (!std::isfinite(floor.relative)) return "--";
  return fmt::format("${}{:.1f}{}$", floor.of_launches ? "" : "\\sim ", 100 * floor.relative,
                     is_within(error, floor) ? within_mark : "");
}
std::string unit(const std::string& text) {  // "57.1 ms", the blank of fixed width
  std::string out = text;
  if (const std::size_t blank = out.find(' '); blank != std::string::npos) out.replace(blank, 1, "\\,");
  return out;
}
std::string seconds(double value) { return std::isfinite(value) ? unit(human_seconds(value)) : "--"; }
std::string bytes(std::int64_t value) { return value == 0 ? "--" : unit(human_bytes(static_cast<double>(value))); }

std::string line_of(const Record& record, const ReportRow& row, const std::string& name) {
  std::vector<std::string> cells = {name, "--", "--", "--", "--", "--", "--", "--", "--", "--"};
  if (record.predicted) {
    cells[1] = seconds(record.predicted->step_time_s);
    cells[6] = bytes(peak_bytes(*record.predicted));
  }
  if (record.measured) {
    cells[2] = seconds(record.measured->step_time_s.median);
    cells[7] = bytes(peak_bytes(*record.measured));
    if (record.measured->baseline) cells[9] = plain_number(record.measured->baseline->speedup);
  }
  if (row.error) {
    cells[3] = percent(row.error->step_time);
    cells[8] = percent(row.error->peak_memory);
  }
  if (record.error && record.error->noise_floor)
    cells[4] = noise(*record.error->noise_floor, record.error->step_time_relative);
  if (record.error && record.error->paired_step_time_relative)
    cells[5] = percent(*record.error->paired_step_time_relative);
  return fmt::format("{} \\\\\n", fmt::join(cells, " & "));
}

/// Rows that count, by what they train, in the order of their first.
std::vector<std::pair<std::string, std::vector<const ReportRow*>>> by_workload(const Report& report) {
  std::vector<std::pair<std::string, std::vector<const ReportRow*>>> groups;
  std::map<std::string, std::size_t> places;
  for (const ReportRow& row : report.rows) {
    if (!row.counts) continue;
    const std::string name = workload(report.record(row));
    const auto [place, is_new] = places.emplace(name, groups.size());
    if (is_new) groups.emplace_back(name, std::vector<const ReportRow*>());
    groups[place->second].second.push_back(&row);
  }
  return groups;
}

std::string case_name(const Report& report, const ReportRow& row) {
  const Record& record = report.record(row);
  std::string name = latex_text(short_id(record));
  if (report.files.size() > 1) name += fmt::format(" ({})", latex_text(report.files[row.file].label));
  if (is_emulated(record.parameters)) return name + ", emulated";
  return is_checked(record) ? name : name + ", unchecked";
}

/// Of a row that trains otherwise a line in small print, else nothing.
std::string note_line(const Report& report, const ReportRow& row) {
  const Record& record = report.record(row);
  const std::string note = training_note(record, report.files[row.file].results.records);
  if (note.empty()) return "";
  return fmt::format("\\multicolumn{{10}}{{l}}{{\\quad\\footnotesize {}: {}}} \\\\\n",
                     latex_text(record.equivalence.reference), latex_text(note));
}

}  // namespace

std::string report_latex_table(const Report& report) {
  const auto counting = static_cast<std::size_t>(std::ranges::count(report.rows, true, &ReportRow::counts));
  const bool is_long = counting > most_rows_of_a_page;
  const std::string_view kind = is_long ? "longtable" : "tabular";
  std::string out = fmt::format(
      "% By parabench report. Needs \\usepackage{{booktabs}}{}.\n% {} of {} {}; results.csv says why others "
      "do not.\n",
      is_long ? " and \\usepackage{longtable}" : "; wider than one column: for table*, or inside \\resizebox", counting,
      counted(report.rows.size(), "record"), counting == 1 ? "counts" : "count");
  out += fmt::format(
      "\\begin{{{}}}{{lrrrrrrrrr}}\n\\toprule\n"
      " & \\multicolumn{{5}}{{c}}{{Step time}} & \\multicolumn{{3}}{{c}}{{Peak memory}} & \\\\\n"
      "\\cmidrule(lr){{2-6}}\\cmidrule(lr){{7-9}}\n"
      "Case & Predicted & Measured & Error / \\% & Noise / \\% & Paired / \\% & "
      "Predicted & Measured & Error / \\% & Speed-up \\\\\n\\midrule\n",
      kind);
  if (is_long) out += "\\endhead\n";
  bool first = true;
  for (const auto& [name, rows] : by_workload(report)) {
    if (!first) out += "\\addlinespace\n";
    first = false;
    out += fmt::format("\\multicolumn{{10}}{{l}}{{\\textit{{{}}}}} \\\\\n", latex_text(name));
    for (const ReportRow* row : rows)
      out += line_of(report.record(*row), *row, case_name(report, *row)) + note_line(report, *row);
  }
  if (out.find(within_mark) != std::string::npos)
    out += fmt::format(
        "\\addlinespace\n\\multicolumn{{10}}{{l}}{{\\footnotesize ${}$ the error is within the noise}} \\\\\n",
        within_mark);
  return out + fmt::format("\\bottomrule\n\\end{{{}}}\n", kind);
}

}  // namespace parabench::results
