#include "results/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "base/error.h"
#include "base/statistics.h"
#include "base/units_text.h"
#include "results/baseline.h"
#include "results/summary.h"

namespace parabench::results {
namespace {

using Records = std::vector<const Record*>;

bool is_judged(const Record& record) { return counts(record) && case_error(record); }

std::map<std::string, Records> by_id(std::span<const ResultsFile> passes) {
  std::map<std::string, Records> cases;
  for (const ResultsFile& pass : passes)
    for (const Record& record : pass.records)
      if (is_judged(record)) cases[record.id].push_back(&record);
  return cases;
}

/// Predictions of two placements of ranks are not two of one case.
void require_placement(const std::string& id, const Records& records) {
  const Placement first = placement_of(*records.front()->measured);
  for (const Record* record : records) {
    const Placement other = placement_of(*record->measured);
    if (other == first) continue;
    throw usage_error("accuracy", id,
                      fmt::format("its ranks where another pass has them: on {}, not on {}",
                                  counted(host_count(first), "host"), counted(host_count(other), "host")),
                      "keep the passes of each placement in folders of their own, and judge these apart");
  }
}

/// Of each pass in which it is known.
template <class Of>
std::vector<double> values_of(const Records& records, Of of) {
  std::vector<double> values;
  for (const Record* record : records)
    if (const std::optional<double> value = of(*record); value && std::isfinite(*value)) values.push_back(*value);
  return values;
}

/// The median over passes of what is known in them.
template <class Of>
std::optional<double> median_of(const Records& records, Of of) {
  const std::vector<double> values = values_of(records, of);
  return values.empty() ? std::nullopt : std::optional(median(values));
}

std::optional<double> paired_error(const Record& record) {
  return record.error ? record.error->paired_step_time_relative : std::nullopt;
}

std::optional<double> noise_of(const Records& records) {
  std::vector<double> medians;
  for (const Record* record : records) medians.push_back(record->measured->step_time_s.median);
  if (medians.size() >= 2) return spread_of(medians);
  return median_of(records, [](const Record& record) -> std::optional<double> {
    return record.error && record.error->noise_floor ? std::optional(record.error->noise_floor->relative)
                                                     : std::nullopt;
  });
}

/// The standard error of a median of many normal values, over that of their mean: sqrt(pi / 2). Of three or four values
/// it is 1.16 and 1.09, so that their error comes out a little too large.
constexpr double of_median = 1.2533;

/// Of the median over a launch's rounds, as of normal errors; adjacent rounds share steps, which makes it a little too
/// small. Nothing of fewer than three rounds.
std::optional<double> standard_error_of_rounds(const Record& record) {
  std::vector<double> errors;
  for (const PairedRound& round : record.paired)
    errors.push_back(round.predicted_step_time_s / round.measured_step_time_s - 1);
  if (errors.size() < 3) return std::nullopt;
  return of_median * deviation_per_mad * mad(errors) / std::sqrt(static_cast<double>(errors.size()));
}

/// Of the median over passes, by how far these are apart; of two passes that is their mean. Nothing of one.
std::optional<double> standard_error_of_passes(const Records& records) {
  const std::vector<double> errors = values_of(records, paired_error);
  if (errors.size() < 2) return std::nullopt;
  return (errors.size() > 2 ? of_median : 1) * standard_deviation(errors) /
         std::sqrt(static_cast<double>(errors.size()));
}

/// What differs between launches, as where their memory lies, no round of one tells; what differs between rounds, two
/// launches may hide: the larger of both, which is rather too large than too small.
std::optional<double> paired_noise(const Records& records) {
  const std::vector<double> of_passes = values_of(records, standard_error_of_rounds);
  std::optional<double> of_rounds;
  if (!of_passes.empty()) of_rounds = median(of_passes) / std::sqrt(static_cast<double>(of_passes.size()));
  return std::max(of_rounds, standard_error_of_passes(records));
}

/// Part by part, their median.
Breakdown median_parts(std::span<const Breakdown> all) {
  Breakdown medians;
  for (const auto& [name, part] : breakdown_fields) {
    std::vector<double> values;
    for (const Breakdown& one : all) values.push_back(one.*part);
    medians.*part = median(values);
  }
  return medians;
}

/// The median over rounds of predicted - measured; nothing without rounds, and where one does not tell.
std::optional<Breakdown> missed_in_rounds(std::span<const PairedRound> rounds) {
  std::vector<Breakdown> differences;
  for (const PairedRound& round : rounds) {
    if (!round.breakdown_s) return std::nullopt;
    Breakdown& difference = differences.emplace_back();
    for (const auto& [name, part] : breakdown_fields)
      difference.*part = round.breakdown_s->predicted.*part - round.breakdown_s->measured.*part;
  }
  return differences.empty() ? std::nullopt : std::optional(median_parts(differences));
}

/// Of rounds in the median over passes, as the paired error; without any that of the last pass.
std::string largest_term(const Records& records) {
  std::vector<Breakdown> missed;
  for (const Record* record : records)
    if (const auto in_rounds = missed_in_rounds(record->paired)) missed.push_back(*in_rounds);
  if (!missed.empty()) {
    missed = {median_parts(missed)};
  } else if (const Record& last = *records.back(); last.paired.empty() && last.error) {
    missed = last.error->breakdown_s;
  }
  std::pair<double, std::string_view> largest{0, ""};
  for (const Breakdown& difference : missed)
    for (const auto& [name, part] : breakdown_fields)
      if (std::abs(difference.*part) > std::abs(largest.first)) largest = {difference.*part, name};
  if (largest.second.empty()) return "";
  return fmt::format("{} {}{}", largest.second, largest.first < 0 ? "-" : "+", human_seconds(std::abs(largest.first)));
}

/// The pass's prediction of the same training on one core, divided among the cores of the case.
std::optional<double> per_rank_s(const Case& spec, const ResultsFile& pass) {
  const auto alone = std::ranges::find_if(pass.records, [&](const Record& other) {
    const Case& its = other.parameters;
    return cores(its) == 1 && its.batch == spec.batch && its.recompute == Recompute::none && other.predicted &&
           is_reference_of(other, spec);
  });
  if (spec.np == 1 || alone == pass.records.end()) return std::nullopt;
  return alone->predicted->step_time_s / cores(spec);
}

/// Of each case in the passes that tell.
std::map<std::string, std::vector<double>> per_rank_errors(std::span<const ResultsFile> passes) {
  std::map<std::string, std::vector<double>> errors;
  for (const ResultsFile& pass : passes)
    for (const Record& record : pass.records) {
      if (!is_judged(record)) continue;
      if (const auto seconds = per_rank_s(record.parameters, pass))
        errors[record.id].push_back(*seconds / record.measured->step_time_s.median - 1);
    }
  return errors;
}

}  // namespace

void require_machine(const ResultsFile& pass, std::string_view machine) {
  if (!pass.calibration || pass.calibration->machine_id == machine) return;
  throw usage_error("accuracy", machine,
                    fmt::format("passes of one machine, {} (of the pass that is predicted from {})",
                                pass.calibration->machine_id, pass.calibration->file),
                    "keep each machine's passes in folders of their own, and judge these apart");
}

bool is_known_undisturbed(const JudgedCase& one) { return one.disturbance.is_known() && !one.disturbance.is_large(); }

std::optional<double> ddlbench_step_time(const Predicted& predicted) {
  for (const auto& [name, seconds] : predicted.second_opinion_step_time_s)
    if (name.starts_with("ddlbench")) return seconds;
  return std::nullopt;
}

std::vector<JudgedCase> judged_cases(std::span<const ResultsFile> passes) {
  const auto first = std::ranges::find_if(passes, [](const ResultsFile& pass) { return pass.calibration.has_value(); });
  for (const ResultsFile& pass : passes)
    if (pass.calibration) require_machine(*first, pass.calibration->machine_id);
  const std::map<std::string, Records> cases = by_id(passes);
  const std::map<std::string, std::vector<double>> per_rank = per_rank_errors(passes);
  std::vector<JudgedCase> judged;
  for (const auto& [id, records] : cases) {
    require_placement(id, records);
    const auto value = [&records = records](auto of) {
      return median_of(records, [&](const Record& record) { return std::optional<double>(of(record)); });
    };
    JudgedCase one{.id = id, .parameters = records.front()->parameters, .passes = static_cast<int>(records.size())};
    one.measured_s = value([](const Record& r) { return r.measured->step_time_s.median; }).value_or(0);
    one.predicted_s = value([](const Record& r) { return r.predicted->step_time_s; }).value_or(0);
    one.forecast = value([](const Record& r) { return case_error(r)->step_time; }).value_or(0);
    one.memory = value([](const Record& r) { return case_error(r)->peak_memory; });
    one.resident = value([](const Record& r) { return case_error(r)->resident_memory; });
    one.paired = median_of(records, paired_error);
    one.paired_noise = paired_noise(records);
    one.adjusted = median_of(records, [](const Record& r) {
      return r.error->adjusted ? std::optional(r.error->adjusted->relative) : std::nullopt;
    });
    one.noise = noise_of(records);
    one.disturbance = {median_of(records, [](const Record& r) { return disturbance_of(r).steal_share; }),
                       median_of(records, [](const Record& r) { return disturbance_of(r).core_spread; })};
    if (const auto known = per_rank.find(id); known != per_rank.end()) one.per_rank = median(known->second);
    one.ddlbench = median_of(records, [](const Record& r) {
      const auto step_s = ddlbench_step_time(*r.predicted);
      return step_s ? std::optional(*step_s / r.measured->step_time_s.median - 1) : std::nullopt;
    });
    one.largest_term = largest_term(records);
    judged.push_back(std::move(one));
  }
  return judged;
}

}  // namespace parabench::results
