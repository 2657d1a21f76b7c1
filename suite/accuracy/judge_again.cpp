#include "suite/accuracy/judge_again.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "results/summary.h"
#include "suite/accuracy/repredict.h"

namespace parabench::suite {
namespace {

using nlohmann::json;

/// Of a date in UTC, as files have it, since 1970; nullopt where it is none.
std::optional<double> hours_of(const std::string& date) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (std::sscanf(date.c_str(), "%d-%d-%dT%d:%d:%d", &year, &month, &day, &hour, &minute, &second) != 6)
    return std::nullopt;
  const std::chrono::sys_days days =
      std::chrono::year_month_day(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                  std::chrono::day(static_cast<unsigned>(day)));
  return 24.0 * static_cast<double>(days.time_since_epoch().count()) + hour + minute / 60.0 + second / 3600.0;
}

constexpr std::size_t terms = enum_values<analytic::AblatedTerm>.size();

/// Of the whole model, without each of its terms, and without waiting.
std::vector<std::string> ablation_names() {
  std::vector<std::string> names = {"nothing"};
  for (const std::string_view name : enum_names<analytic::AblatedTerm>) names.emplace_back(name);
  names.emplace_back("waiting");
  return names;
}

/// Errors of one case in all passes.
struct Errors {
  std::vector<double> held_out, stale;
  std::array<std::vector<double>, terms + 2> ablated;  ///< by ablation_names()
};

void add(std::vector<double>& errors, const std::optional<double>& predicted_s, double measured_s) {
  if (predicted_s) errors.push_back(*predicted_s / measured_s - 1);
}

void add(Errors& errors, const Repredicted& again, double measured_s, bool ablate) {
  add(errors.held_out, again.held_out_s, measured_s);
  add(errors.stale, again.stale_s, measured_s);
  if (!ablate) return;
  add(errors.ablated.front(), again.whole_s, measured_s);
  for (std::size_t term = 0; term < terms; ++term) add(errors.ablated[1 + term], again.ablated_s[term], measured_s);
  add(errors.ablated.back(), again.without_waiting_s, measured_s);
}

std::optional<double> median_of(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(median(values));
}

}  // namespace

const analytic::Calibration* stale_calibration(std::span<const Pass> passes, const Pass& pass) {
  const auto own = pass.calibration ? hours_of(pass.calibration->date) : std::nullopt;
  const analytic::Calibration* latest = nullptr;
  double latest_hours = 0;
  for (const Pass& other : passes) {
    const auto hours = other.calibration ? hours_of(other.calibration->date) : std::nullopt;
    if (!own || !hours || *hours > *own - stale_hours || (latest && *hours <= latest_hours)) continue;
    latest = &*other.calibration;
    latest_hours = *hours;
  }
  return latest;
}

std::vector<Ablation> judge_again(std::vector<results::JudgedCase>& cases, std::span<const Pass> passes, bool ablate) {
  std::map<std::string, Errors> errors;
  for (const Pass& pass : passes) {
    if (!pass.calibration) continue;
    const analytic::Calibration* stale = stale_calibration(passes, pass);
    for (const results::Record& record : pass.results.records) {
      if (!results::counts(record) || !results::case_error(record)) continue;
      if (const auto again = repredict(record, *pass.calibration, stale, ablate))
        add(errors[record.id], *again, record.measured->step_time_s.median, ablate);
    }
  }
  for (results::JudgedCase& one : cases) {
    const auto found = errors.find(one.id);
    if (found == errors.end()) continue;
    one.held_out = median_of(found->second.held_out);
    one.stale = median_of(found->second.stale);
  }
  std::vector<Ablation> ablations;
  if (!ablate) return ablations;
  const std::vector<std::string> names = ablation_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<double> of_cases;
    for (const auto& [id, all] : errors)
      if (const auto error = median_of(all.ablated[i])) of_cases.push_back(*error);
    ablations.push_back({names[i], results::figures_of(of_cases)});
  }
  return ablations;
}

std::string ablations_text(std::span<const Ablation> ablations) {
  if (ablations.empty() || ablations.front().figures.cases == 0) return "";
  std::string text = fmt::format("\n{:<22} {:>6} {:>8} {:>8} {:>8} {:>7}\n", "forecast without", "cases", "mean",
                                 "median", "p90", "ratio");
  for (const auto& [without, f] : ablations)
    text += fmt::format("{:<22} {:>6} {:>8} {:>8} {:>8} {:>7.3f}\n", without, f.cases,
                        fmt::format("{:.1f} %", 100 * f.mean), fmt::format("{:.1f} %", 100 * f.median),
                        fmt::format("{:.1f} %", 100 * f.p90), f.median_ratio);
  return text;
}

json ablations_json(std::span<const Ablation> ablations) {
  json rows = json::array();
  for (const auto& [without, f] : ablations)
    rows.push_back({{"without", without},
                    {"cases", f.cases},
                    {"mean", f.mean},
                    {"median", f.median},
                    {"p90", f.p90},
                    {"max", f.max},
                    {"median_ratio", f.median_ratio}});
  return rows;
}

}  // namespace parabench::suite
