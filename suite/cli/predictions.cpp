#include "suite/cli/predictions.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/case_json.h"
#include "base/case_key.h"
#include "base/case_text.h"
#include "base/columns.h"
#include "base/json_null.h"
#include "base/units_text.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "results/record_json.h"
#include "results/report/escape.h"
#include "results/summary.h"
#include "suite/cli/alike_stages.h"
#include "suite/machine/calibrate.h"
#include "suite/run/what_if_option.h"

namespace parabench::suite {
namespace {

using nlohmann::json;

std::string human(const Term& term, double value) {
  if (term.unit == "s") return human_seconds(value);
  if (term.unit == "bytes") return human_bytes(value);
  return fmt::format("{:.4g}{}", value, term.unit == "1" ? "" : " " + term.unit);
}

/// How many times `now` is what it was; none of nothing.
std::optional<double> ratio(double before, double now) {
  return before > 0 ? std::optional(now / before) : std::nullopt;
}

std::string ratio_text(double before, double now) {
  const auto times = ratio(before, now);
  return times ? fmt::format("x {:.3f}", *times) : before == now ? "x 1.000" : "-";
}

std::string changes_text(const analytic::WhatIf& what_if) {
  std::vector<std::string> changes;
  for (const auto& [name, change] : what_if_texts(what_if)) changes.push_back(name + "=" + change);
  return changes.empty() ? "nothing changed" : fmt::format("{}", fmt::join(changes, ","));
}

/// `before`: printed before the parts.
void print_parts(const StepParts& parts, std::string_view before, std::ostream& out) {
  std::string text;
  for (const auto& [name, part] : time_part_fields) {
    const double seconds = parts.seconds.*part;
    if (seconds > 0) text += fmt::format("{}{} {}", text.empty() ? "" : " + ", name, human_seconds(seconds));
  }
  if (text.empty()) return;
  fmt::print(out, "  operations  {}{} of rank {}, the busiest, per step\n", before, text, parts.rank.value);
}

/// Ranks above which those that are predicted the same are one line.
constexpr std::size_t most_lines = 64;

struct Alike {
  const RankPredicted* first = nullptr;
  int count = 1;
};

/// All ranks, or of many the first of each kind.
std::vector<Alike> lines_of(const std::vector<RankPredicted>& ranks) {
  std::vector<Alike> lines;
  std::map<std::vector<double>, std::size_t> known;
  for (const RankPredicted& rank : ranks) {
    std::vector<double> values;
    if (ranks.size() <= most_lines) values.push_back(rank.rank.value);
    for (const auto& [name, part] : breakdown_fields) values.push_back(rank.breakdown_s.*part);
    for (const MemoryCategory category : enum_values<MemoryCategory>)
      values.push_back(static_cast<double>(rank.peak_memory[category]));
    const auto [line, is_new] = known.try_emplace(std::move(values), lines.size());
    if (is_new)
      lines.push_back({&rank});
    else
      ++lines[line->second].count;
  }
  return lines;
}

void print_ranks(const Predicted& predicted, std::ostream& out) {
  const auto if_any = [&](double Breakdown::*part) {
    const bool is_there =
        std::ranges::any_of(predicted.ranks, [&](const RankPredicted& rank) { return rank.breakdown_s.*part > 0; });
    return [=](const std::string& cell) { return is_there ? fmt::format(" {:>10}", cell) : ""; };
  };
  const auto recomputed = if_any(&Breakdown::recompute), waited = if_any(&Breakdown::data_wait);
  fmt::print(out, "\n  {:>4} {:>10} {:>10}{} {:>10} {:>10} {:>10}{} {:>10}  memory at its peak\n", "rank", "forward",
             "backward", recomputed("recompute"), "update", "exposed", "bubble", waited("data wait"), "peak");
  for (const auto& [first, count] : lines_of(predicted.ranks)) {
    const RankPredicted& rank = *first;
    const Breakdown& b = rank.breakdown_s;
    std::string parts;
    for (const MemoryCategory category : enum_values<MemoryCategory>) {
      if (const auto bytes = rank.peak_memory[category]; bytes > 0) {
        parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", to_text(category),
                             human_bytes(static_cast<double>(bytes)));
      }
    }
    if (count > 1) parts += fmt::format("; {} ranks alike", count);
    fmt::print(out, "  {:>4} {:>10} {:>10}{} {:>10} {:>10} {:>10}{} {:>10}  {}\n", rank.rank.value,
               human_seconds(b.forward), human_seconds(b.backward), recomputed(human_seconds(b.recompute)),
               human_seconds(b.update), human_seconds(b.communication_exposed), human_seconds(b.bubble),
               waited(human_seconds(b.data_wait)), human_bytes(static_cast<double>(rank.peak_memory.total_counted())),
               parts);
  }
}

/// Where a term comes from; the same moment for all that one calibration measured.
std::string origin(const Term& term) {
  return fmt::format("[{}; {}{}]", term.source, term.cost_source, term.date.empty() ? "" : " " + term.date);
}

/// Of which launches the calibrated terms are; "" where it is not known.
std::string launches_text(const std::optional<LaunchesBehind>& behind) {
  if (!behind) return "";
  if (behind->launches == 1) return fmt::format(", of one launch: {}", unknown_spread);
  return fmt::format(", of {} launches between {} and {}, {}", behind->launches, behind->first_date, behind->last_date,
                     behind->spread ? "spread " + human_share(*behind->spread) : "spread unknown");
}

void print_terms(const Prediction& prediction, std::ostream& out) {
  const std::optional<Predicted>& changed = prediction.outlook->changed;
  using Row = std::vector<std::string>;
  std::vector<Row> rows;
  const std::vector<Term>& terms = prediction.outlook->forecast.predicted.terms;
  for (const Term& term : terms) {
    Row& row = rows.emplace_back(Row{"  " + term.name, human(term, term.value)});
    if (changed) {
      const auto found = std::ranges::find(changed->terms, term.name, &Term::name);
      const bool is = found != changed->terms.end();
      row.push_back(is ? human(term, found->value) : "-");
      row.push_back(is ? ratio_text(term.value, found->value) : "-");
    }
    row.push_back(fmt::format("{} {}", term.formula, origin(term)));
  }
  // As waiting for samples, which may only begin with the change.
  for (const Term& term : changed ? changed->terms : std::vector<Term>())
    if (std::ranges::find(terms, term.name, &Term::name) == terms.end())
      rows.push_back(
          {"  " + term.name, "-", human(term, term.value), "-", fmt::format("{} {}", term.formula, origin(term))});
  rows = without_alike_stages(rows);
  const Row headings = changed ? Row{"  terms", "base", "what-if", "ratio", ""} : Row{"  terms", "", ""};
  std::vector<std::size_t> widths(headings.size());
  widen(widths, headings);
  constexpr std::size_t widest_name = 42;
  for (Row row : rows) {
    if (row[0].size() > widest_name) row[0].clear();  // the few that are longer move what is behind them
    widen(widths, row);
  }
  const auto line = [&](const Row& cells) {
    return aligned_line(cells, widths, [&](std::size_t c) { return c == 0 || c + 1 == cells.size(); });
  };
  std::string head = line(headings);
  head.insert(head.size() - 1, launches_text(prediction.outlook->forecast.predicted.calibrated_by));
  out << '\n' << head;
  for (const Row& row : rows) out << line(row);
}

/// " (...; ...)", what a closed form assumes and the case does not keep; "" where there is nothing.
std::string broken_text(const Predicted& predicted, const std::string& opinion) {
  const auto broken = predicted.broken_assumptions.find(opinion);
  return broken == predicted.broken_assumptions.end() ? "" : fmt::format(" ({})", fmt::join(broken->second, "; "));
}

void print_step(const Prediction& prediction, const PredictionSetting& setting, std::ostream& out) {
  const Forecast& forecast = prediction.outlook->forecast;
  const Predicted& predicted = forecast.predicted;
  const auto interval = results::known_interval(predicted);
  const int hosts = std::min(setting.hosts, prediction.chosen.spec.np);
  fmt::print(out, "{}{}\n  step time   {}{} (simulated, {}{}{})\n  throughput  {:.1f} samples/s\n",
             prediction.chosen.id, hosts > 1 ? fmt::format(" on {} hosts", hosts) : "",
             human_seconds(predicted.step_time_s),
             interval ? fmt::format(", {} to {}", human_seconds(interval->first), human_seconds(interval->second)) : "",
             forecast.cost_source, setting.hardware.empty() ? "" : " of ", setting.hardware,
             predicted.throughput_samples_per_s);
  if (prediction.outlook->changed) {
    const double now = prediction.outlook->changed->step_time_s;
    fmt::print(out, "  what-if     {} with {}, {} of it; {:.1f} samples/s\n", human_seconds(now),
               changes_text(*setting.what_if), ratio_text(predicted.step_time_s, now),
               prediction.outlook->changed->throughput_samples_per_s);
  }
  for (const auto& [name, seconds] : predicted.second_opinion_step_time_s) {
    fmt::print(out, "  second opinion  {} {}{}", human_seconds(seconds), name, broken_text(predicted, name));
    if (const auto& changed = prediction.outlook->changed) {
      const auto now = changed->second_opinion_step_time_s.find(name);
      // The makespan's formula of some schedules holds for some times of passes alone: before the change, not after it.
      if (now != changed->second_opinion_step_time_s.end())
        fmt::print(out, "; what-if {}, {}{}", human_seconds(now->second), ratio_text(seconds, now->second),
                   broken_text(*changed, name));
    }
    out << '\n';
  }
}

/// Ranks of each stage, of a plan that may list some copies alone.
std::vector<int> replicas_of(const plan::Plan& plan) {
  std::vector<int> widths = plan::stage_widths(plan);
  for (int& width : widths) width *= plan.spec.np / static_cast<int>(plan.ranks.size());
  return widths;
}

// Tables.

using Cells = std::vector<std::pair<std::string, std::string>>;

std::string number(double value) { return std::isfinite(value) ? print_number(value) : ""; }

std::string axis_text(const Case& spec, std::string_view name) {
  if (name == "model") return to_text(spec.model);
  if (name == "dataset") return to_text(spec.dataset);
  if (name == "strategy") return to_text(spec.strategy);
  const CaseKey& key = find_case_key(name);
  const std::string text = value_text(spec, key);
  // In bytes, as in results files.
  return key.type == KeyType::size && !text.empty() ? std::to_string(parse_bytes(name, text).value) : text;
}

double mean_bubble(const Predicted& predicted) {
  double sum = 0;
  for (const RankPredicted& rank : predicted.ranks) sum += rank.breakdown_s.bubble;
  return sum / static_cast<double>(predicted.ranks.size());
}

/// The most of any rank.
template <class Of>
auto most(const Predicted& predicted, Of of) {
  return of(*std::ranges::max_element(predicted.ranks, {}, of));
}

void add_figures(Cells& cells, const Prediction& prediction, const PredictionSetting& setting) {
  const Predicted none;
  const bool is = prediction.outlook.has_value();
  const Predicted& p = is ? prediction.outlook->forecast.predicted : none;
  const auto add = [&](const char* name, auto value) { cells.emplace_back(name, is ? number(value()) : ""); };
  add("step_time_s", [&] { return p.step_time_s; });
  if (setting.what_if) {
    add("what_if_step_time_s", [&] { return prediction.outlook->changed->step_time_s; });
    add("what_if_ratio", [&] { return ratio(p.step_time_s, prediction.outlook->changed->step_time_s).value_or(1); });
  }
  add("throughput_samples_per_s", [&] { return p.throughput_samples_per_s; });
  add("bubble_s", [&] { return mean_bubble(p); });
  add("communication_exposed_s",
      [&] { return most(p, [](const RankPredicted& r) { return r.breakdown_s.communication_exposed; }); });
  add("peak_memory_bytes", [&] {
    return static_cast<double>(most(p, [](const RankPredicted& r) { return r.peak_memory.total_counted(); }));
  });
  const auto used = [&] { return most(p, [](const RankPredicted& r) { return r.peak_memory.device_used; }); };
  cells.emplace_back("device_used_bytes", is && used() > 0 ? std::to_string(used()) : "");
  cells.emplace_back("cost_source", is ? prediction.outlook->forecast.cost_source : "");
}

Cells cells_of(const Prediction& prediction, const PredictionSetting& setting) {
  Cells cells{{"id", results::csv_text(prediction.chosen.id)}};
  for (const SweptAxis& axis : setting.axes)
    cells.emplace_back(axis.name, results::csv_text(axis_text(prediction.chosen.spec, axis.name)));
  cells.emplace_back("status", prediction.outlook ? "ok" : "impossible");
  cells.emplace_back("reason", results::csv_text(prediction.reason));
  add_figures(cells, prediction, setting);
  if (!setting.hardware.empty()) cells.emplace_back("hardware", results::csv_text(setting.hardware));
  if (setting.hosts > 0) cells.emplace_back("hosts", std::to_string(setting.hosts));
  return cells;
}

}  // namespace

void print_prediction(const Prediction& prediction, const PredictionSetting& setting, std::ostream& out) {
  if (!prediction.outlook) {
    fmt::print(out, "{}\n  impossible: {}\n", prediction.chosen.id, prediction.reason);
    return;
  }
  print_step(prediction, setting, out);
  print_parts(*prediction.outlook->forecast.predicted.step_parts, "", out);
  if (const auto& changed = prediction.outlook->changed) print_parts(*changed->step_parts, "what-if ", out);
  print_ranks(prediction.outlook->forecast.predicted, out);
  print_terms(prediction, out);
}

json prediction_json(const Prediction& prediction, const PredictionSetting& setting) {
  json out{{"id", prediction.chosen.id},
           {"parameters", parameters_json(prediction.chosen.spec)},
           {"hardware", null_if_empty(setting.hardware)},
           {"hosts", setting.hosts > 0 ? json(setting.hosts) : json()},
           {"reason", prediction.outlook ? json() : json(prediction.reason)},
           {"plan", nullptr},
           {"cost_source", nullptr},
           {"predicted", nullptr}};
  if (!prediction.outlook) return out;
  const Forecast& forecast = prediction.outlook->forecast;
  out["plan"] = {{"hash", prediction.outlook->has_plan ? json(plan::hash(forecast.plan)) : json()},
                 {"partition", plan::partition(forecast.plan)},
                 {"replicas", replicas_of(forecast.plan)}};
  out["cost_source"] = forecast.cost_source;
  out["predicted"] = results::to_json(forecast.predicted);
  if (prediction.outlook->changed) {
    const auto times = ratio(forecast.predicted.step_time_s, prediction.outlook->changed->step_time_s);
    out["what_if"] = {{"changes", what_if_texts(*setting.what_if)},
                      {"predicted", results::to_json(*prediction.outlook->changed)},
                      {"step_time_ratio", null_if_absent(times)}};
  }
  return out;
}

std::string prediction_csv_header(const PredictionSetting& setting) {
  std::vector<std::string> names;
  for (const auto& [name, text] : cells_of({}, setting)) names.push_back(name);
  return fmt::format("{}\n", fmt::join(names, ","));
}

std::string prediction_csv(const Prediction& prediction, const PredictionSetting& setting) {
  std::vector<std::string> texts;
  for (const auto& [name, text] : cells_of(prediction, setting)) texts.push_back(text);
  return fmt::format("{}\n", fmt::join(texts, ","));
}

}  // namespace parabench::suite
