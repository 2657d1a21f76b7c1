#include "results/accuracy_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/case_text.h"
#include "base/counted.h"
#include "base/units_text.h"
#include "results/report/escape.h"

namespace parabench::results {
namespace {

using nlohmann::json;

template <class Of>
std::vector<double> errors_of(std::span<const JudgedCase> cases, Of of) {
  std::vector<double> errors;
  for (const JudgedCase& one : cases)
    if (const std::optional<double> error = std::invoke(of, one); error && std::isfinite(*error))
      errors.push_back(*error);
  return errors;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// The error that tells most of the model: paired, where it was, else the forecast's.
double of_the_model(const JudgedCase& one) { return one.paired.value_or(one.forecast); }

void add_figures(std::string& text, std::span<const JudgedCase> cases) {
  text +=
      fmt::format("{:<22} {:>6} {:>8} {:>8} {:>8} {:>8} {:>7}\n", "", "cases", "mean", "median", "p90", "max", "ratio");
  for (const ErrorKind& kind : error_kinds()) {
    const ErrorFigures f = figures_of(errors_of(cases, kind.of));
    if (f.cases == 0) continue;
    text += fmt::format("{:<22} {:>6} {:>8} {:>8} {:>8} {:>8} {:>7.3f}\n", kind.name, f.cases, percent(f.mean),
                        percent(f.median), percent(f.p90), percent(f.max), f.median_ratio);
  }
}

/// Means of absolute errors of cases that have the same `key`.
template <class Key>
void add_means(std::string& text, std::string_view heading, std::span<const JudgedCase> cases, Key key) {
  std::map<std::string, std::vector<JudgedCase>> groups;
  for (const JudgedCase& one : cases) groups[key(one)].push_back(one);
  std::size_t width = heading.size();
  for (const auto& [name, members] : groups) width = std::max(width, name.size());
  text += fmt::format("\n{:<{}} {:>6} {:>9} {:>7} {:>7} {:>7}\n", heading, width, "cases", "forecast", "paired",
                      "noise", "ratio");
  for (const auto& [name, members] : groups) {
    const auto mean_of = [&members = members](auto of) {
      const ErrorFigures f = figures_of(errors_of(members, of));
      return f.cases > 0 ? percent(f.mean) : "-";
    };
    text += fmt::format("{:<{}} {:>6} {:>9} {:>7} {:>7} {:>7.3f}\n", name, width, members.size(),
                        mean_of(&JudgedCase::forecast), mean_of(&JudgedCase::paired), mean_of(&JudgedCase::noise),
                        figures_of(errors_of(members, of_the_model)).median_ratio);
  }
}

void add_worst(std::string& text, std::span<const JudgedCase> cases, int worst) {
  std::vector<const JudgedCase*> order;
  for (const JudgedCase& one : cases) order.push_back(&one);
  std::ranges::stable_sort(order, [](const JudgedCase* a, const JudgedCase* b) {
    return std::abs(of_the_model(*a)) > std::abs(of_the_model(*b));
  });
  if (std::ssize(order) > worst) order.resize(static_cast<std::size_t>(worst));
  text += "\nfurthest off\n";
  for (const JudgedCase* one : order)
    text += fmt::format(
        "  {} {:+.1f} %  {}{}  measured {}{}\n", one->paired ? "paired" : "forecast", 100 * of_the_model(*one),
        one->paired && one->paired_noise ? "noise " + percent(*one->paired_noise) + "  " : "", one->id,
        human_seconds(one->measured_s), one->largest_term.empty() ? "" : "; most in " + one->largest_term);
}

json known(const std::optional<double>& value) { return value && std::isfinite(*value) ? json(*value) : json(); }

/// What tables and programs get of a case.
struct Column {
  std::string_view name;
  json (*of)(const JudgedCase&);
};

const std::array columns = {
    Column{"id", [](const JudgedCase& one) -> json { return one.id; }},
    Column{"passes", [](const JudgedCase& one) -> json { return one.passes; }},
    Column{"measured_s", [](const JudgedCase& one) -> json { return one.measured_s; }},
    Column{"predicted_s", [](const JudgedCase& one) -> json { return one.predicted_s; }},
    Column{"forecast", [](const JudgedCase& one) -> json { return one.forecast; }},
    Column{"held_out", [](const JudgedCase& one) { return known(one.held_out); }},
    Column{"stale", [](const JudgedCase& one) { return known(one.stale); }},
    Column{"paired", [](const JudgedCase& one) { return known(one.paired); }},
    Column{"paired_noise", [](const JudgedCase& one) { return known(one.paired_noise); }},
    Column{"adjusted", [](const JudgedCase& one) { return known(one.adjusted); }},
    Column{"noise", [](const JudgedCase& one) { return known(one.noise); }},
    Column{"peak_memory", [](const JudgedCase& one) { return known(one.memory); }},
    Column{"resident_memory", [](const JudgedCase& one) { return known(one.resident); }},
    Column{"time_over_ranks", [](const JudgedCase& one) { return known(one.per_rank); }},
    Column{"ddlbench", [](const JudgedCase& one) { return known(one.ddlbench); }},
    Column{"choice", [](const JudgedCase& one) -> json { return one.choice; }},
    Column{"largest_term", [](const JudgedCase& one) -> json { return one.largest_term; }},
};

}  // namespace

std::string accuracy_text(std::span<const JudgedCase> cases, int worst) {
  if (cases.empty()) return "no case counts yet\n";
  int most = 0;
  for (const JudgedCase& one : cases) most = std::max(most, one.passes);
  std::string text = fmt::format("{} in up to {}; absolute errors, and the median of predicted / measured\n\n",
                                 counted(cases.size(), "case"), counted(most, "pass", "passes"));
  add_figures(text, cases);
  add_means(text, "strategy", cases, [](const JudgedCase& one) { return one.parameters.strategy.name; });
  add_means(text, "model", cases, [](const JudgedCase& one) { return to_text(one.parameters.model); });
  add_worst(text, cases, worst);
  return text;
}

std::string accuracy_csv(std::span<const JudgedCase> cases) {
  std::vector<std::string> cells;
  for (const Column& column : columns) cells.emplace_back(column.name);
  std::string text = fmt::format("{}\n", fmt::join(cells, ","));
  for (const JudgedCase& one : cases) {
    cells.clear();
    for (const Column& column : columns) cells.push_back(csv_cell(column.of(one)));
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

json figures_json(const ErrorFigures& f) {
  return {{"cases", f.cases}, {"mean", f.mean}, {"median", f.median},
          {"p90", f.p90},     {"max", f.max},   {"median_ratio", f.median_ratio}};
}

json accuracy_json(std::span<const JudgedCase> cases) {
  json figures = json::object(), rows = json::array();
  for (const ErrorKind& kind : error_kinds()) {
    const ErrorFigures f = figures_of(errors_of(cases, kind.of));
    if (f.cases == 0) continue;
    figures[std::string(kind.name)] = figures_json(f);
  }
  for (const JudgedCase& one : cases) {
    json& row = rows.emplace_back(json::object());
    for (const Column& column : columns) row[std::string(column.name)] = column.of(one);
  }
  return {{"figures", figures}, {"cases", rows}};
}

}  // namespace parabench::results
