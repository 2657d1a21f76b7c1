#include "results/compare_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/case_text.h"
#include "base/columns.h"
#include "base/counted.h"
#include "base/json_null.h"
#include "base/units_text.h"
#include "results/table.h"

namespace parabench::results {
namespace {

using nlohmann::json;

constexpr std::size_t columns = 8;
using Row = std::array<std::string, columns>;

Row row(const CaseComparison& c) {
  return {"  " + c.id_a.substr(id_group(c.id_a).size()),
          fmt::format("{} / {}", c.launches_a, c.launches_b),
          human_seconds(c.median_a_s),
          human_seconds(c.median_b_s),
          fmt::format("{:.3f}", c.ratio),
          c.interval ? fmt::format("{:.3f} to {:.3f}", c.interval->first, c.interval->second) : "-",
          c.p ? fmt::format("{:.2g}", *c.p) : "-",
          std::string(to_text(c.verdict))};
}

void append(std::string& text, const Row& cells, const std::array<std::size_t, columns>& widths) {
  text += aligned_line(cells, widths, [](std::size_t c) { return c == 0 || c + 1 == columns; });
}

std::string noise_text(const std::optional<LaunchNoise>& noise) {
  if (!noise) return "unknown";
  return fmt::format("{} over {} of {}", human_share(std::expm1(noise->sigma)),
                     counted(noise->launches, "launch", "launches"), counted(noise->cases, "case"));
}

/// What would settle an UNCLEAR case.
std::string settled_by(const CaseComparison& c) {
  if (!c.interval) return "";
  if (!c.launches_to_settle) return "; more launches than are sensible would settle it, or another threshold";
  return fmt::format("; about {} on either side would settle it", counted(*c.launches_to_settle, "launch", "launches"));
}

int number_of(const FilesComparison& comparison, Verdict verdict) {
  return static_cast<int>(std::ranges::count(comparison.cases, verdict, &CaseComparison::verdict));
}

std::string heading(std::string_view side, const ComparedFile& file) {
  return fmt::format("{}  {}  {}  {}\n", side, file.path, file.date, file.git.substr(0, 12));
}

json file_json(const ComparedFile& file) { return {{"file", file.path}, {"date", file.date}, {"git", file.git}}; }

json noise_json(const std::optional<LaunchNoise>& noise) {
  if (!noise) return nullptr;
  return {{"sigma_relative", noise->sigma},
          {"cases", noise->cases},
          {"launches", noise->launches},
          {"degrees_of_freedom", noise->degrees_of_freedom}};
}

json case_json(const CaseComparison& c) {
  return {{"id_a", c.id_a},
          {"id_b", c.id_b},
          {"launches_a", c.launches_a},
          {"launches_b", c.launches_b},
          {"median_a_s", c.median_a_s},
          {"median_b_s", c.median_b_s},
          {"ratio", c.ratio},
          {"ratio_interval", null_if_absent(c.interval)},
          {"p", null_if_absent(c.p)},
          {"ratio_within_noise", c.noise ? json(std::exp(*c.noise)) : json()},
          {"verdict", to_text(c.verdict)},
          {"reason", null_if_empty(c.reason)},
          {"launches_to_settle", null_if_absent(c.launches_to_settle)}};
}

}  // namespace

std::string comparison_table(const FilesComparison& comparison, const CompareRules& rules, const ComparedFile& a,
                             const ComparedFile& b) {
  std::string text = heading("A", a) + heading("B", b);
  for (const WorkDifference& difference : comparison.allowed) {
    text += fmt::format("different work: {}{}: {} in A, {} in B\n", to_text(difference.aspect),
                        difference.id.empty() ? "" : " of " + difference.id, difference.a, difference.b);
  }
  for (const ContextDifference& difference : comparison.context)
    text += fmt::format("{}: {} in A, {} in B\n", difference.name, difference.a, difference.b);
  text += "times are medians over launches of the launches' median steps\n";
  text += fmt::format("threshold {:g} %: ratios from {:.3f} to {:.3f} are the same; alpha {:g}\n\n",
                      100 * rules.threshold, 1 / (1 + rules.threshold), 1 + rules.threshold, rules.alpha);

  const Row headings = {"case", "launches", "A", "B", "B / A", fmt::format("{:g} % interval", 100 * (1 - rules.alpha)),
                        "p",    "verdict"};
  std::vector<Row> rows;
  for (const CaseComparison& c : comparison.cases) rows.push_back(row(c));
  std::array<std::size_t, columns> widths{};
  widen(widths, headings);
  for (const Row& cells : rows) widen(widths, cells);
  if (rows.empty())
    text += "no case of A can be compared with one of B\n";
  else
    append(text, headings, widths);
  std::string_view group;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CaseComparison& c = comparison.cases[i];
    if (id_group(c.id_a) != group) {
      group = id_group(c.id_a);
      text += fmt::format("{}\n", group);
    }
    append(text, rows[i], widths);
    if (c.id_b != c.id_a) text += fmt::format("    B is {}\n", c.id_b);
    if (!c.reason.empty()) text += fmt::format("    {}{}\n", c.reason, settled_by(c));
  }
  if (!comparison.left_out.empty()) text += "not compared\n";
  for (const LeftOut& row : comparison.left_out) text += fmt::format("  {}\n    {}\n", row.id, row.reason);

  for (const DeviceNoise& noise : comparison.noise) {
    text += fmt::format("launch-to-launch noise, {}: A {}, B {}\n", to_text(noise.device), noise_text(noise.a),
                        noise_text(noise.b));
  }
  for (const Verdict verdict : enum_values<Verdict>)
    text +=
        fmt::format("{}{} {}", verdict == Verdict::same ? "" : ", ", number_of(comparison, verdict), to_text(verdict));
  const auto broken = std::ranges::count(comparison.left_out, true, &LeftOut::broken);
  return text + (broken > 0 ? fmt::format("; {} good in A and not in B\n", broken) : "\n");
}

json comparison_json(const FilesComparison& comparison, const CompareRules& rules, const ComparedFile& a,
                     const ComparedFile& b) {
  json out{{"a", file_json(a)},
           {"b", file_json(b)},
           {"threshold", rules.threshold},
           {"alpha", rules.alpha},
           {"different_work", json::array()},
           {"different_context", json::array()},
           {"noise", json::array()},
           {"cases", json::array()},
           {"left_out", json::array()},
           {"verdicts", json::object()}};
  for (const WorkDifference& difference : comparison.allowed) {
    out["different_work"].push_back({{"name", to_text(difference.aspect)},
                                     {"id", null_if_empty(difference.id)},
                                     {"a", difference.a},
                                     {"b", difference.b}});
  }
  for (const ContextDifference& difference : comparison.context)
    out["different_context"].push_back({{"name", difference.name}, {"a", difference.a}, {"b", difference.b}});
  for (const DeviceNoise& noise : comparison.noise)
    out["noise"].push_back({{"device", to_text(noise.device)}, {"a", noise_json(noise.a)}, {"b", noise_json(noise.b)}});
  for (const CaseComparison& c : comparison.cases) out["cases"].push_back(case_json(c));
  for (const LeftOut& row : comparison.left_out)
    out["left_out"].push_back({{"id", row.id}, {"reason", row.reason}, {"broken", row.broken}});
  for (const Verdict verdict : enum_values<Verdict>)
    out["verdicts"][std::string(to_text(verdict))] = number_of(comparison, verdict);
  return out;
}

}  // namespace parabench::results
