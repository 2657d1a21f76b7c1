#include "results/accuracy_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/case_text.h"
#include "base/counted.h"
#include "base/json_null.h"
#include "base/units_text.h"
#include "results/report/escape.h"
#include "results/summary.h"

namespace parabench::results {
namespace {

using nlohmann::json;

/// Of figure_rows(), behind the name.
constexpr std::array figure_widths = {6, 8, 11, 8, 8, 8, 7, 11};

/// The error that tells most of the model: paired, where it was, else the forecast's.
double of_the_model(const JudgedCase& one) { return one.paired.value_or(one.forecast); }

std::string ratio_interval(const std::optional<Interval>& ends) {
  return ends ? fmt::format("{:.3f}-{:.3f}", ends->first, ends->second) : "-";
}

void add_figures(std::string& text, std::span<const JudgedCase> cases) {
  for (const std::vector<std::string>& row : figure_rows(cases)) {
    text += fmt::format("{:<22}", row.front());
    for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format(" {:>{}}", row[i], figure_widths[i - 1]);
    text += '\n';
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
      return f.cases > 0 ? human_share(f.mean) : "-";
    };
    text += fmt::format("{:<{}} {:>6} {:>9} {:>7} {:>7} {:>7.3f}\n", name, width, members.size(),
                        mean_of(&JudgedCase::forecast), mean_of(&JudgedCase::paired), mean_of(&JudgedCase::noise),
                        figures_of(errors_of(members, of_the_model)).median_ratio);
  }
}

/// "" where nothing is known to have disturbed it.
std::string disturbed_by(const JudgedCase& one) {
  std::string text;
  if (one.disturbance.steal_share > disturbing_steal_share)
    text += fmt::format("; {} of the cores' time stolen", human_share(*one.disturbance.steal_share));
  if (one.disturbance.core_spread > disturbing_core_spread)
    text += fmt::format("; cores {:.2f} times as slow at times", *one.disturbance.core_spread);
  return text;
}

void add_worst(std::string& text, std::span<const JudgedCase> cases, int worst) {
  std::vector<const JudgedCase*> order;
  for (const JudgedCase& one : cases) order.push_back(&one);
  std::ranges::stable_sort(order, [](const JudgedCase* a, const JudgedCase* b) {
    return std::abs(of_the_model(*a)) > std::abs(of_the_model(*b));
  });
  if (std::ssize(order) > worst) order.resize(static_cast<std::size_t>(worst));
  text += "\nfurthest off\n";
  for (const JudgedCase* one : order) {
    const std::string noise = one->paired ? paired_noise_text(*one) : noise_text(*one);
    text += fmt::format("  {} {:+.1f} %  {}{}  measured {}{}{}\n", one->paired ? "paired" : "forecast",
                        100 * of_the_model(*one), noise == "-" ? "" : "noise " + noise + "  ", one->id,
                        human_seconds(one->measured_s),
                        one->largest_term.empty() ? "" : "; most in " + one->largest_term, disturbed_by(*one));
  }
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
    Column{"stolen", [](const JudgedCase& one) { return known(one.disturbance.steal_share); }},
    Column{"core_spread", [](const JudgedCase& one) { return known(one.disturbance.core_spread); }},
    Column{"peak_memory", [](const JudgedCase& one) { return known(one.memory); }},
    Column{"resident_memory", [](const JudgedCase& one) { return known(one.resident); }},
    Column{"time_over_ranks", [](const JudgedCase& one) { return known(one.per_rank); }},
    Column{"ddlbench", [](const JudgedCase& one) { return known(one.ddlbench); }},
    Column{"choice", [](const JudgedCase& one) -> json { return one.choice; }},
    Column{"largest_term", [](const JudgedCase& one) -> json { return one.largest_term; }},
};

}  // namespace

std::string accuracy_heading(std::span<const JudgedCase> cases) {
  if (cases.empty()) return "no case counts yet\n";
  int most = 0;
  for (const JudgedCase& one : cases) most = std::max(most, one.passes);
  return fmt::format(
      "{} in up to {}; absolute errors, and the median of predicted / measured; 95 % intervals over cases{}\n",
      counted(cases.size(), "case"), counted(most, "pass", "passes"),
      most == 1 ? "; noise is that of calibrations themselves" : "");
}

std::vector<std::vector<std::string>> figure_rows(std::span<const JudgedCase> cases) {
  std::vector<std::vector<std::string>> rows = {{"", "cases", "mean", "95 %", "median", "p90", "max", "ratio", "95 %"}};
  for (const auto& [name, has_ratio, f, mean_ci95, median_ratio_ci95] : figures_by_kind(cases))
    rows.push_back({std::string(name), std::to_string(f.cases), human_share(f.mean), percent_interval(mean_ci95),
                    human_share(f.median), human_share(f.p90), human_share(f.max),
                    has_ratio ? fmt::format("{:.3f}", f.median_ratio) : "-", ratio_interval(median_ratio_ci95)});
  return rows;
}

std::string percent_interval(const std::optional<Interval>& ends) {
  return ends ? fmt::format("{:.1f}-{:.1f}", 100 * ends->first, 100 * ends->second) : "-";
}

std::string noise_text(const JudgedCase& one) {
  // A pass times a single launch.
  return one.noise ? noise_percent({*one.noise, one.passes > 1}, one.forecast) : "-";
}

std::string paired_noise_text(const JudgedCase& one) {
  return one.paired && one.paired_noise ? noise_percent({*one.paired_noise, true}, *one.paired) : "-";
}

std::string accuracy_text(std::span<const JudgedCase> cases, int worst) {
  std::string text = accuracy_heading(cases);
  if (cases.empty()) return text;
  text += '\n';
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
  for (const KindFigures& kind : figures_by_kind(cases)) {
    json& of_kind = figures[std::string(kind.name)] = figures_json(kind.figures);
    if (!kind.has_ratio) of_kind["median_ratio"] = nullptr;
    of_kind["mean_ci95"] = null_if_absent(kind.mean_ci95);
    of_kind["median_ratio_ci95"] = null_if_absent(kind.median_ratio_ci95);
  }
  for (const JudgedCase& one : cases) {
    json& row = rows.emplace_back(json::object());
    for (const Column& column : columns) row[std::string(column.name)] = column.of(one);
  }
  return {{"figures", figures}, {"cases", rows}};
}

}  // namespace parabench::results
