#include "suite/accuracy/judge_again.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/date.h"
#include "base/units_text.h"
#include "results/accuracy_text.h"
#include "results/summary.h"
#include "suite/accuracy/repredict.h"
#include "suite/run/pair.h"

namespace parabench::suite {
namespace {

using nlohmann::json;

constexpr std::size_t terms = enum_values<analytic::AblatedTerm>.size();

/// Of the whole model, without each of its terms, without rehearsals, and without waiting.
std::vector<std::string> ablation_names() {
  std::vector<std::string> names = {"nothing"};
  for (const std::string_view name : enum_names<analytic::AblatedTerm>) names.emplace_back(name);
  names.emplace_back("rehearsal");
  names.emplace_back("waiting");
  return names;
}

/// Of one case in all passes, by ablation_names().
using Ablated = std::array<std::vector<double>, terms + 3>;

/// Errors of one case in all passes.
struct CaseErrors {
  std::vector<double> held_out, stale, ddlbench;
  Ablated forecasts, rounds;
};

void add(std::vector<double>& errors, const std::optional<double>& error) {
  if (error) errors.push_back(*error);
}

void add(Ablated& errors, const std::optional<double>& whole, const Repredicted::Ablated& ablated) {
  add(errors.front(), whole);
  for (std::size_t term = 0; term < terms; ++term) add(errors[1 + term], ablated.terms[term]);
  add(errors[1 + terms], ablated.rehearsal);
  add(errors.back(), ablated.waiting);
}

void add(CaseErrors& errors, const Repredicted& again) {
  add(errors.held_out, again.held_out);
  add(errors.stale, again.stale);
  add(errors.ddlbench, again.ddlbench);
  add(errors.forecasts, again.whole, again.ablated);
  add(errors.rounds, again.paired, again.ablated_paired);
}

std::optional<protocol::PairedRounds> rounds_of(const Pass& pass, const results::Record& record) {
  return pass.rounds.empty() || record.paired.empty() ? std::nullopt : kept_rounds(pass.rounds, record.id);
}

/// Over all cases.
results::ErrorFigures figures_of(const std::map<std::string, CaseErrors>& cases, Ablated CaseErrors::*which,
                                 std::size_t name) {
  std::vector<double> errors;
  for (const auto& [id, all] : cases) add(errors, median_of((all.*which)[name]));
  return results::figures_of(errors);
}

}  // namespace

const analytic::Calibration* stale_calibration(std::span<const Pass> passes, const Pass& pass) {
  const auto date_of = [](const Pass& one) {
    return one.calibration ? parse_utc(one.calibration->date) : std::nullopt;
  };
  const auto own = date_of(pass);
  const analytic::Calibration* latest = nullptr;
  std::chrono::sys_seconds latest_date;
  for (const Pass& other : passes) {
    const auto date = date_of(other);
    if (other.folder != pass.folder) continue;
    if (!own || !date || *date > *own - stale_age || (latest && *date <= latest_date)) continue;
    latest = &*other.calibration;
    latest_date = *date;
  }
  return latest;
}

void pair_again(std::span<Pass> passes) {
  for (Pass& pass : passes) {
    if (!pass.calibration) continue;
    for (results::Record& record : pass.results.records) {
      if (!results::counts(record)) continue;
      if (const auto rounds = rounds_of(pass, record)) pair_again(record, {*pass.calibration, nullptr, &*rounds});
    }
  }
}

std::vector<Ablation> judge_again(std::vector<results::JudgedCase>& cases, std::span<const Pass> passes, bool ablate) {
  std::map<std::string, CaseErrors> errors;
  for (const results::JudgedCase& one : cases) errors[one.id];
  for (const Pass& pass : passes) {
    if (!pass.calibration) continue;
    const analytic::Calibration* stale = stale_calibration(passes, pass);
    for (const results::Record& record : pass.results.records) {
      const auto judged = errors.find(record.id);
      if (judged == errors.end() || !results::counts(record) || !results::case_error(record)) continue;
      // The rounds themselves: pair_again().
      const std::optional<protocol::PairedRounds> rounds = ablate ? rounds_of(pass, record) : std::nullopt;
      if (const auto again = repredict(record, {*pass.calibration, stale, rounds ? &*rounds : nullptr}, ablate))
        add(judged->second, *again);
    }
  }
  for (results::JudgedCase& one : cases) {
    const CaseErrors& found = errors.at(one.id);
    one.held_out = median_of(found.held_out);
    one.stale = median_of(found.stale);
    if (!found.ddlbench.empty()) one.ddlbench = median_of(found.ddlbench);
  }
  std::vector<Ablation> ablations;
  if (!ablate) return ablations;
  const std::vector<std::string> names = ablation_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    ablations.push_back(
        {names[i], figures_of(errors, &CaseErrors::forecasts, i), figures_of(errors, &CaseErrors::rounds, i)});
  return ablations;
}

namespace {

void add_table(std::string& text, std::string_view heading, std::span<const Ablation> ablations,
               results::ErrorFigures Ablation::*figures) {
  if (ablations.empty() || (ablations.front().*figures).cases == 0) return;
  text += fmt::format("\n{:<22} {:>6} {:>8} {:>8} {:>8} {:>7}\n", heading, "cases", "mean", "median", "p90", "ratio");
  for (const Ablation& one : ablations) {
    const results::ErrorFigures& f = one.*figures;
    text += fmt::format("{:<22} {:>6} {:>8} {:>8} {:>8} {:>7.3f}\n", one.without, f.cases, human_share(f.mean),
                        human_share(f.median), human_share(f.p90), f.median_ratio);
  }
}

}  // namespace

std::string ablations_text(std::span<const Ablation> ablations) {
  std::string text;
  add_table(text, "forecast without", ablations, &Ablation::figures);
  add_table(text, "paired without", ablations, &Ablation::paired);
  return text;
}

json ablations_json(std::span<const Ablation> ablations) {
  json rows = json::array();
  for (const Ablation& one : ablations) {
    json& row = rows.emplace_back(results::figures_json(one.figures));
    row["without"] = one.without;
    row["paired"] = one.paired.cases > 0 ? results::figures_json(one.paired) : json();
  }
  return rows;
}

}  // namespace parabench::suite
