#include "results/report/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/counted.h"
#include "base/units_text.h"
#include "results/report/embedded.h"
#include "results/report/escape.h"
#include "results/report/figures_json.h"
#include "results/table.h"
#include "results/training_note.h"

namespace parabench::results {
namespace {

/// A cell of text.
std::string td(std::string_view text, std::string_view kind = "") {
  return fmt::format("<td{}>{}</td>", kind.empty() ? "" : fmt::format(" class=\"{}\"", kind), html_text(text));
}
constexpr std::string_view no_value = "<td>-</td>";
/// A cell that sorts by `value`; no_value without one.
std::string td(std::string_view text, std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return std::string(no_value);
  return fmt::format("<td data-v=\"{:.6g}\">{}</td>", *value, html_text(text));
}
std::string time_cell(std::optional<double> seconds) { return td(seconds ? human_seconds(*seconds) : "", seconds); }
std::string bytes_cell(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  return td(human_bytes(value), bytes == 0 ? std::optional<double>() : value);
}
std::string error_cell(std::optional<double> ratio) { return td(ratio ? signed_percent(*ratio) : "", ratio); }
std::string share_cell(std::optional<double> share) { return td(share ? human_share(*share) : "", share); }
/// Beside an error.
std::string noise_cell(const std::optional<NoiseFloor>& floor, double error) {
  return floor ? td(noise_percent(*floor, error), floor->relative) : std::string(no_value);
}

/// An id, which may break behind its slashes, and what there is to say of its training.
std::string id_cell(std::string_view id, std::string_view note = "") {
  std::string out;
  for (const char c : html_text(id)) out += c == '/' ? std::string("/<wbr>") : std::string(1, c);
  if (!note.empty()) out += fmt::format("<br><small>{}</small>", html_text(note));
  return fmt::format("<th scope=\"row\">{}</th>", out);
}

std::string verdict(const Record& record, const ReportRow& row) {
  if (record.status != Status::ok) return std::string(to_text(record.status));
  if (!row.counts) return "not equivalent";
  if (is_emulated(record.parameters)) return "emulated";
  return is_checked(record) ? "ok" : "unchecked";
}

/// A row of the table of cases.
struct CaseRow {
  const Report& report;
  const ReportRow& row;
  const Record& record;
};

/// A column of a table, with the cell of what a row is of.
template <class Of>
struct CellColumn {
  std::string_view name;
  std::string (*cell)(const Of&);  ///< no_value where there is none
  bool is_text = false;
};
using CaseColumn = CellColumn<CaseRow>;

/// What a member, or a function, reads from a part of a record that may not be there.
template <class Part, class Read>
auto read_from(const std::optional<Part>& part, Read read) {
  using Value = std::remove_cvref_t<std::invoke_result_t<Read, const Part&>>;
  return part ? std::optional<Value>(std::invoke(read, *part)) : std::nullopt;
}

const std::array case_columns = {
    CaseColumn{"Predicted step",
               [](const CaseRow& of) { return time_cell(read_from(of.record.predicted, &Predicted::step_time_s)); }},
    CaseColumn{"Measured step",
               [](const CaseRow& of) {
                 return time_cell(
                     read_from(of.record.measured, [](const Measured& m) { return m.step_time_s.median; }));
               }},
    CaseColumn{"Step error",
               [](const CaseRow& of) { return error_cell(read_from(of.row.error, &CaseError::step_time)); }},
    CaseColumn{"Noise",
               [](const CaseRow& of) {
                 const auto& error = of.record.error;
                 return error ? noise_cell(error->noise_floor, error->step_time_relative) : std::string(no_value);
               }},
    CaseColumn{"Adjusted",
               [](const CaseRow& of) {
                 const auto& error = of.record.error;
                 return error_cell(error ? read_from(error->adjusted, &AdjustedError::relative) : std::nullopt);
               }},
    CaseColumn{"Paired",
               [](const CaseRow& of) {
                 const auto& error = of.record.error;
                 return error_cell(error ? error->paired_step_time_relative : std::nullopt);
               }},
    CaseColumn{
        "Predicted peak",
        [](const CaseRow& of) { return bytes_cell(of.record.predicted ? peak_bytes(*of.record.predicted) : 0); }},
    CaseColumn{"Measured peak",
               [](const CaseRow& of) { return bytes_cell(of.record.measured ? peak_bytes(*of.record.measured) : 0); }},
    CaseColumn{"Memory error",
               [](const CaseRow& of) { return error_cell(read_from(of.row.error, &CaseError::peak_memory)); }},
    CaseColumn{"Samples/s",
               [](const CaseRow& of) {
                 const auto rate = read_from(of.record.measured, &Measured::throughput_samples_per_s);
                 return td(rate ? plain_number(*rate) : "", rate);
               }},
    CaseColumn{"Speed-up",
               [](const CaseRow& of) {
                 const auto& measured = of.record.measured;
                 const auto speedup = measured ? read_from(measured->baseline, &Baseline::speedup) : std::nullopt;
                 return td(speedup ? plain_number(*speedup) + " x" : "", speedup);
               }},
    CaseColumn{"Launches",
               [](const CaseRow& of) {
                 if (!of.record.measured) return std::string(no_value);
                 const auto launches = static_cast<double>(of.record.measured->step_time_s.samples.size());
                 return td(plain_number(launches), launches);
               }},
    CaseColumn{"File",
               [](const CaseRow& of) {
                 const auto& files = of.report.files;
                 return files.size() > 1 ? td(files[of.row.file].label, "word") : std::string(no_value);
               },
               true},
    CaseColumn{"Verdict", [](const CaseRow& of) { return td(verdict(of.record, of.row), "word"); }, true},
};

struct Column {
  std::string_view name;
  bool is_text = false;
};

/// A table that the script makes sortable; `body` holds its rows. A column without a name is left out.
std::string table(std::string_view id, std::string_view caption, std::span<const Column> columns,
                  std::string_view body) {
  std::string head;
  for (const auto& [name, is_text] : columns)
    if (!name.empty()) head += fmt::format("<th scope=\"col\"{}>{}</th>", is_text ? " class=\"word\"" : "", name);
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{1}\">\n<table id=\"{0}\" "
      "class=\"sortable\"><caption>{1}</caption>\n<thead><tr>{2}</tr></thead>\n<tbody>\n{3}</tbody>\n</table>\n</"
      "div>\n",
      id, caption, head, body);
}

Column file_column(const Report& report) { return {report.files.size() > 1 ? "File" : "", true}; }

std::string note(std::string_view text) { return fmt::format("<p class=\"note\">{}</p>\n", html_text(text)); }

/// Adds to the heads and rows of a table the columns in which any row has a value: it shall fit a window.
template <class Of, std::size_t size>
void add_columns(std::vector<Column>& heads, std::vector<std::string>& rows,
                 const std::array<CellColumn<Of>, size>& columns, const std::vector<Of>& of) {
  for (const CellColumn<Of>& column : columns) {
    std::vector<std::string> cells;
    for (const Of& row : of) cells.push_back(column.cell(row));
    if (std::ranges::all_of(cells, [](const std::string& cell) { return cell == no_value; })) continue;
    heads.push_back({column.name, column.is_text});
    for (std::size_t i = 0; i < cells.size(); ++i) rows[i] += cells[i];
  }
}

std::string body_of(const std::vector<std::string>& rows) {
  return fmt::format("{}</tr>\n", fmt::join(rows, "</tr>\n"));
}

std::string cases_table(const Report& report) {
  std::vector<CaseRow> of;
  std::vector<std::string> rows;
  for (const ReportRow& row : report.rows) {
    const Record& record = report.record(row);
    of.push_back({report, row, record});
    rows.push_back((row.counts ? "<tr>" : "<tr class=\"left-out\">") +
                   id_cell(record.id, training_note(record, report.files[row.file].results.records)));
  }
  std::vector<Column> heads = {{"Case"}};
  add_columns(heads, rows, case_columns, of);
  std::string out = table("cases", "All cases", heads, body_of(rows));
  for (const std::string& line : missing_scalings(report)) out += note(line);
  return out;
}

std::string left_out_table(const Report& report) {
  std::string body;
  for (const ReportRow& row : report.rows) {
    if (row.counts) continue;
    body +=
        fmt::format("<tr>{}{}{}</tr>\n", id_cell(report.record(row).id),
                    report.files.size() > 1 ? td(report.files[row.file].label, "word") : "", td(row.why_not, "word"));
  }
  if (body.empty()) return "<p>Every record counts.</p>\n";
  const std::array<Column, 3> columns = {{{"Case"}, file_column(report), {"Why", true}}};
  return table("left-out", "Records that do not count", columns, body);
}

using ErrorColumn = CellColumn<StrategyErrors>;

const std::array error_columns = {
    ErrorColumn{"Equivalence", [](const StrategyErrors& of) { return td(kind_of(of.mean), "word"); }, true},
    ErrorColumn{"Records", [](const StrategyErrors& of) { return td(std::to_string(of.mean.cases), of.mean.cases); }},
    ErrorColumn{"Step time", [](const StrategyErrors& of) { return share_cell(of.mean.step_time); }},
    ErrorColumn{"Noise", [](const StrategyErrors& of) { return noise_cell(of.mean.noise_floor, of.mean.step_time); }},
    ErrorColumn{"Adjusted", [](const StrategyErrors& of) { return share_cell(of.mean.adjusted); }},
    ErrorColumn{"Paired", [](const StrategyErrors& of) { return share_cell(of.mean.paired); }},
    ErrorColumn{"Peak memory", [](const StrategyErrors& of) { return share_cell(of.mean.peak_memory); }},
};

std::string errors_table(const Report& report) {
  if (report.strategies.empty()) return "";
  std::vector<std::string> rows;
  for (const StrategyErrors& errors : report.strategies)
    rows.push_back(fmt::format("<tr><th scope=\"row\">{}</th>", html_text(errors.strategy)));
  std::vector<Column> heads = {{"Strategy"}};
  add_columns(heads, rows, error_columns, report.strategies);
  return table("by-strategy", "Mean absolute errors of the rows that count, and their noise, by strategy", heads,
               body_of(rows));
}

std::string fact(std::string_view name, std::string_view value) {
  if (value.empty()) return "";
  return fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", html_text(name), html_text(value));
}

std::string tile(std::string_view value, std::string_view what) {
  return fmt::format("<li><strong>{}</strong> {}</li>\n", html_text(value), html_text(what));
}

/// "quick (2026-11-22): 5 records, on vm (AMD EPYC, 2 cores)".
std::string run_of(const ReportFile& file) {
  const Context& context = file.results.context;
  const std::size_t records = file.results.records.size();
  std::string text = fmt::format("{} ({}): {}", file.label, context.date.substr(0, 10), counted(records, "record"));
  std::string_view before = ", on ";
  for (const Host& host : context.hosts) {
    text += fmt::format("{}{} ({}, {})", before, host.name, host.cpu, counted(host.cores, "core"));
    before = ", ";
  }
  for (const HostGpu& gpu : context.gpus) text += ", " + gpu.name;
  return "<li>" + html_text(text) + "</li>\n";
}

/// What ran where, and one tile per number.
std::string summary(const Report& report) {
  const auto counting = std::ranges::count(report.rows, true, &ReportRow::counts);
  std::string out = "<ul class=\"tiles\">\n";
  out += tile(std::to_string(report.rows.size()), report.rows.size() == 1 ? "record" : "records");
  out += tile(std::to_string(counting), counting == 1 ? "of them counts" : "of them count");
  for (const MeanError& mean : report.means) {
    const std::string of = counted(mean.cases, fmt::format("{} record", kind_of(mean)));
    std::string beside;
    if (mean.noise_floor) beside += "; noise " + noise_percent(*mean.noise_floor, mean.step_time);
    if (mean.paired) beside += "; paired " + human_share(*mean.paired);
    out += tile(human_share(mean.step_time), "mean absolute error of step time, " + of + beside);
    if (mean.peak_memory) {
      out += tile(human_share(*mean.peak_memory), "mean absolute error of peak memory, " + of);
    }
  }
  const auto inside = [&report](bool value) {
    return std::ranges::count_if(
        report.rows, [value](const ReportRow& row) { return row.counts && row.inside && *row.inside == value; });
  };
  if (const auto in = inside(true), of = in + inside(false); of > 0) {
    out += tile(fmt::format("{} of {}", in, of), "measured medians inside the predicted interval");
  }
  out += "</ul>\n<ul class=\"runs\">\n";
  for (const ReportFile& file : report.files) out += run_of(file);
  out += "</ul>\n";
  for (const ReportFile& file : report.files) {
    for (const std::string& text : file.results.context.notes) out += note(fmt::format("{}: {}", file.label, text));
  }
  return out;
}

/// What predictions came from; "" where nothing was predicted.
std::string calibration_text(const ResultsFile& file) {
  if (const auto& one = file.calibration)
    return fmt::format("{}, of {}, machine {}", one->file, one->date, one->machine_id);
  const auto from = [&file](std::string_view source) {
    return std::ranges::any_of(file.records, [source](const Record& record) {
      return record.predicted &&
             std::ranges::find(record.predicted->terms, source, &Term::cost_source) != record.predicted->terms.end();
    });
  };
  if (from("calibrated")) return "several, not the same one for all records";
  if (from("data-sheet")) return "none: predicted from a data sheet";
  return from("unit") ? "none: predicted from given costs" : "";
}

std::string environment(const ReportFile& file) {
  const Context& context = file.results.context;
  const Program& program = file.results.program;
  std::string out = fmt::format("<h3>{}</h3>\n<table class=\"facts\">\n", html_text(file.label));
  out += fact("date", context.date);
  for (const Host& host : context.hosts) {
    out += fact("host", fmt::format("{}: {}, {}, {}", host.name, host.cpu, counted(host.cores, "core"),
                                    human_bytes(static_cast<double>(host.memory_bytes))));
  }
  for (const HostGpu& gpu : context.gpus) {
    out += fact("GPU", fmt::format("{}, {}", gpu.name, human_bytes(static_cast<double>(gpu.memory_bytes))));
  }
  out += fact("program", fmt::format("parabench {}, commit {}{}, {}", program.version, program.git.substr(0, 12),
                                     program.dirty ? " (modified)" : "", program.build_type));
  out += fact("compiler flags", program.flags);
  out += fact("MPI", context.mpi) + fact("launcher", context.launcher) + fact("LibTorch", context.libtorch);
  out += fact("calibration", calibration_text(file.results));
  for (const auto& [name, value] : context.environment) out += fact(name, value);
  std::string command;
  for (const std::string& word : context.argv) command += (command.empty() ? "" : " ") + word;
  return out + fact("command", command) + "</table>\n";
}

std::string environments(const Report& report) {
  std::string out;
  for (const ReportFile& file : report.files) out += environment(file);
  return out;
}

std::string value_of(std::string_view placeholder, const Report& report, const nlohmann::json& figures) {
  if (placeholder == "style") return std::string(page_style);
  if (placeholder == "script") return std::string(page_script);
  if (placeholder == "style-hash") return std::string(page_style_hash);
  if (placeholder == "script-hash") return std::string(page_script_hash);
  if (placeholder == "summary") return summary(report);
  if (placeholder == "cases") return cases_table(report);
  if (placeholder == "errors") return errors_table(report);
  if (placeholder == "left-out") return left_out_table(report);
  if (placeholder == "environment") return environments(report);
  if (placeholder == "data") return script_json(figures);
  throw std::logic_error(fmt::format("page.html: unknown placeholder '{}'", placeholder));
}

}  // namespace

std::string report_page(const Report& report) { return report_page(report, figures_json(report)); }

std::string report_page(const Report& report, const nlohmann::json& figures) {
  std::string out;
  // The template alone is looked through, never what is put in.
  for (std::string_view rest = page_html;;) {
    const std::size_t begin = rest.find("{{");
    out += rest.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    const std::size_t end = rest.find("}}", begin);
    out += value_of(rest.substr(begin + 2, end - begin - 2), report, figures);
    rest.remove_prefix(end + 2);
  }
}

}  // namespace parabench::results
