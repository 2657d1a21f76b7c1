#include "suite/cli/predict_command.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "base/called.h"
#include "base/case_json.h"
#include "base/units_text.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "results/record_json.h"
#include "results/summary.h"
#include "suite/cli/options.h"
#include "suite/machine/knowledge.h"
#include "suite/run/emulate_option.h"
#include "suite/run/outlook.h"

namespace parabench::suite {
namespace {

using nlohmann::json;

std::string human(const Term& term) {
  if (term.unit == "s") return human_seconds(term.value);
  if (term.unit == "bytes") return human_bytes(term.value);
  return fmt::format("{:.4g} {}", term.value, term.unit == "1" ? "" : term.unit);
}

void print_parts(const StepParts& parts, std::ostream& out) {
  std::string text;
  for (const auto& [name, part] : time_part_fields) {
    const double seconds = parts.seconds.*part;
    if (seconds > 0) text += fmt::format("{}{} {}", text.empty() ? "" : " + ", name, human_seconds(seconds));
  }
  if (text.empty()) return;
  fmt::print(out, "  operations  {} of rank {}, the busiest, per step\n", text, parts.rank.value);
}

/// Ranks from which on those that are predicted the same are one line.
constexpr std::size_t most_lines = 64;

struct Alike {
  const RankPredicted* first = nullptr;
  int count = 1;
};

std::vector<Alike> each(const std::vector<RankPredicted>& ranks) {
  std::vector<Alike> lines;
  for (const RankPredicted& rank : ranks) lines.push_back({&rank});
  return lines;
}

/// By the first rank of each kind.
std::vector<Alike> alike(const std::vector<RankPredicted>& ranks) {
  std::vector<Alike> lines;
  std::map<std::vector<double>, std::size_t> known;
  for (const RankPredicted& rank : ranks) {
    std::vector<double> values;
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
  fmt::print(out, "\n  {:>4} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}  memory at its peak\n", "rank", "forward",
             "backward", "update", "exposed", "bubble", "peak");
  const bool many = predicted.ranks.size() > most_lines;
  const std::vector<Alike> lines = many ? alike(predicted.ranks) : each(predicted.ranks);
  for (const auto& [first, count] : lines) {
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
    fmt::print(out, "  {:>4} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}  {}\n", rank.rank.value,
               human_seconds(b.forward), human_seconds(b.backward), human_seconds(b.update),
               human_seconds(b.communication_exposed), human_seconds(b.bubble),
               human_bytes(static_cast<double>(rank.peak_memory.total_counted())), parts);
  }
}

/// Ranks of each stage, of a plan that may list some copies alone.
std::vector<int> replicas_of(const plan::Plan& plan) {
  std::vector<int> widths = plan::stage_widths(plan);
  for (int& width : widths) width *= plan.spec.np / static_cast<int>(plan.ranks.size());
  return widths;
}

void print(const std::string& id, const Forecast& forecast, std::ostream& out) {
  const Predicted& predicted = forecast.predicted;
  const auto interval = results::known_interval(predicted);
  fmt::print(out, "{}\n  step time   {}{} (simulated, {})\n  throughput  {:.1f} samples/s\n", id,
             human_seconds(predicted.step_time_s),
             interval ? fmt::format(", {} to {}", human_seconds(interval->first), human_seconds(interval->second)) : "",
             forecast.cost_source, predicted.throughput_samples_per_s);
  for (const auto& [name, seconds] : predicted.second_opinion_step_time_s) {
    fmt::print(out, "  second opinion  {} {}\n", human_seconds(seconds), name);
  }
  print_parts(*predicted.step_parts, out);
  print_ranks(predicted, out);
  fmt::print(out, "\n  terms\n");
  for (const Term& term : predicted.terms) {
    fmt::print(out, "  {:<32} {:>12}  {} [{}; {}]\n", term.name, human(term), term.formula, term.source,
               term.cost_source);
  }
}

}  // namespace

void add_options(CLI::App& app, PredictOptions& options) {
  app.add_option("CASE", options.cases, "Case ids")->required()->type_name("");
  add_schedule(app, options.schedule);
  app.add_flag("--json", options.json, "As JSON");
  add_calibration(app, options.calibration);
  add_emulation(app, options.emulated);
}

ExitCode predict_cases(const PredictOptions& options, const Start& start) {
  const analytic::MachineInfo machine = known_machine();
  const CalibrationFile file = open_calibration(options.calibration, machine, true);
  const Knowledge knowledge = knowledge_of(machine, file, options.emulated);
  json document = json::array();
  bool guessed = false;
  for (const auto& chosen : select({options.cases, std::nullopt, std::nullopt, options.schedule}, {})) {
    check_emulate_option(chosen.spec, options.emulated);
    const auto [forecast, has_plan] = make_outlook(chosen, knowledge);
    guessed = guessed || forecast.cost_source != "calibrated";
    if (!forecast.gap.empty()) start.progress.note(fmt::format("{}: {}", chosen.id, forecast.gap));
    if (options.json) {
      document.push_back({{"id", chosen.id},
                          {"parameters", parameters_json(chosen.spec)},
                          {"plan",
                           {{"hash", has_plan ? json(plan::hash(forecast.plan)) : json()},
                            {"partition", plan::partition(forecast.plan)},
                            {"replicas", replicas_of(forecast.plan)}}},
                          {"cost_source", forecast.cost_source},
                          {"predicted", results::to_json(forecast.predicted)}});
    } else {
      print(chosen.id, forecast, start.out);
    }
  }
  if (options.json) start.out << document.dump(1) << '\n';
  if (guessed)
    start.progress.note("costs are from the data sheet where marked; " +
                        to_type("calibrate CASE measures this machine"));
  return ExitCode::ok;
}

}  // namespace parabench::suite
