#include "results/accuracy_markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "results/accuracy_text.h"
#include "results/report/escape.h"
#include "results/table.h"

namespace parabench::results {
namespace {

using Cells = std::vector<std::string>;

std::string cell_of(const std::optional<double>& error) { return error ? signed_percent(*error) : "-"; }

struct Column {
  std::string_view heading;
  std::string (*cell)(const JudgedCase&);  ///< "-" where there is none
};

const std::array columns = {
    Column{"measured, ms", [](const JudgedCase& one) { return plain_number(1e3 * one.measured_s); }},
    Column{"forecast", [](const JudgedCase& one) { return cell_of(one.forecast); }},
    Column{"noise", noise_text},
    Column{"paired", [](const JudgedCase& one) { return cell_of(one.paired); }},
    Column{"paired noise", paired_noise_text},
    Column{"peak memory", [](const JudgedCase& one) { return cell_of(one.memory); }},
    Column{"resident memory", [](const JudgedCase& one) { return cell_of(one.resident); }},
};

std::string line_of(const Cells& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); }

/// The first column to the left, figures to the right.
std::string head_of(const Cells& headings) {
  std::string text = line_of(headings) + "|---|";
  for (std::size_t i = 1; i < headings.size(); ++i) text += "---:|";
  return text + '\n';
}

std::string figures_table(std::span<const JudgedCase> cases) {
  const std::vector<Cells> rows = figure_rows(cases);
  std::string text = head_of(rows.front());
  for (std::size_t i = 1; i < rows.size(); ++i) text += line_of(rows[i]);
  return text;
}

std::string cases_table(std::span<const JudgedCase> cases) {
  std::vector<Column> shown;
  for (const Column& column : columns)
    if (!std::ranges::all_of(cases, [&](const JudgedCase& one) { return column.cell(one) == "-"; }))
      shown.push_back(column);
  Cells headings = {"case"};
  for (const Column& column : shown) headings.emplace_back(column.heading);
  std::string text = head_of(headings);
  std::string_view group;
  for (const JudgedCase& one : cases) {
    if (id_group(one.id) != group) {
      group = id_group(one.id);
      text += line_of({fmt::format("**{}**", markdown_code(group))});
    }
    Cells cells = {markdown_code(std::string_view(one.id).substr(group.size()))};
    for (const Column& column : shown) cells.push_back(column.cell(one));
    text += line_of(cells);
  }
  return text;
}

}  // namespace

std::string accuracy_markdown(std::span<const JudgedCase> cases) {
  const std::string heading = accuracy_heading(cases);
  return cases.empty() ? heading : fmt::format("{}\n{}\n{}", heading, figures_table(cases), cases_table(cases));
}

}  // namespace parabench::results
