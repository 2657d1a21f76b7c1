#include "analytic/validation/judgement_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/json_null.h"
#include "base/units_text.h"

namespace parabench::analytic {
namespace {

using nlohmann::json;

constexpr std::size_t columns = 12;
using Cells = std::array<std::string, columns>;
const Cells headings = {"source", "quantity", "model", "n",    "mean",        "median",
                        "p90",    "max",      "ratio", "rank", "uncertainty", "own model"};
constexpr std::size_t words = 3;

std::string percent(std::optional<double> share) { return share ? human_share(*share) : "-"; }

Cells cells_of(const Judgement& j) {
  return {j.source,
          std::string(to_text(j.quantity)),
          j.model,
          std::to_string(j.tests.size()),
          percent(j.mean),
          percent(j.median),
          percent(j.p90),
          percent(j.max),
          fmt::format("{:.3f}", j.median_ratio),
          j.rank_correlation ? fmt::format("{:.2f}", *j.rank_correlation) : "-",
          percent(j.uncertainty),
          percent(j.source_mean)};
}

/// Words to the left, figures to the right.
std::string line_of(const Cells& cells, const std::array<std::size_t, columns>& widths) {
  std::string line;
  for (std::size_t c = 0; c < columns; ++c) {
    if (c > 0) line += "  ";
    line += c < words ? fmt::format("{:<{}}", cells[c], widths[c]) : fmt::format("{:>{}}", cells[c], widths[c]);
  }
  return line + "\n";
}

/// "ResNet-18, ResNet-50"; of many only their number.
std::string names(const std::vector<std::string>& rows) {
  constexpr std::size_t few = 6;
  return rows.size() > few ? counted(rows.size(), "row") : fmt::format("{}", fmt::join(rows, ", "));
}

std::string constants_text(const Judgement& j) {
  if (j.constants.empty()) return "";
  constexpr std::size_t most = 3;
  std::string text = fmt::format("{}, {} on {}:", j.source, j.model, names(j.fit_rows));
  for (std::size_t i = 0; i < std::min(most, j.constants.size()); ++i)
    text += fmt::format("{} {} {:.4g}", i > 0 ? "," : "", j.constants[i].first, j.constants[i].second);
  if (j.constants.size() > most) text += fmt::format(", and {} more (--json)", j.constants.size() - most);
  return text + "\n";
}

json json_of(const Judgement& j) {
  json tests = json::array(), constants = json::array();
  for (const JudgedRow& row : j.tests) {
    tests.push_back({{"row", row.row},
                     {"quality", to_text(row.quality)},
                     {"published", row.published},
                     {"predicted", row.predicted},
                     {"error", row.error}});
  }
  for (const auto& [name, value] : j.constants) constants.push_back({{"name", name}, {"value", value}});
  return {{"source", j.source},
          {"quantity", to_text(j.quantity)},
          {"model", j.model},
          {"n", j.tests.size()},
          {"mean_absolute_error", j.mean},
          {"median_absolute_error", j.median},
          {"p90_absolute_error", j.p90},
          {"max_absolute_error", j.max},
          {"median_ratio", j.median_ratio},
          {"rank_correlation", null_if_absent(j.rank_correlation)},
          {"uncertainty", null_if_absent(j.uncertainty)},
          {"source_mean_absolute_error", null_if_absent(j.source_mean)},
          {"constants", constants},
          {"fit_rows", j.fit_rows},
          {"tests", tests}};
}

}  // namespace

std::string judgements_text(std::span<const Judgement> judgements) {
  std::vector<Cells> table = {headings};
  for (const Judgement& judgement : judgements) table.push_back(cells_of(judgement));
  std::array<std::size_t, columns> widths{};
  for (const Cells& cells : table)
    for (std::size_t c = 0; c < columns; ++c) widths[c] = std::max(widths[c], cells[c].size());
  std::string text, fitted;
  for (const Cells& cells : table) text += line_of(cells, widths);
  for (const Judgement& judgement : judgements) fitted += constants_text(judgement);
  return fitted.empty() ? text : text + "constants that were fitted\n" + fitted;
}

json judgements_json(std::span<const Judgement> judgements) {
  json list = json::array();
  for (const Judgement& judgement : judgements) list.push_back(json_of(judgement));
  return list;
}

}  // namespace parabench::analytic
