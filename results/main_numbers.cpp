#include "results/main_numbers.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "results/summary.h"

namespace parabench::results {
namespace {

using Number = std::optional<double>;

Number finite(double value) { return std::isfinite(value) ? Number(value) : std::nullopt; }

/// Of what was measured, or of what was predicted.
template <auto part, auto value>
Number number(const Record& record) {
  return record.*part ? finite(std::invoke(value, *(record.*part))) : std::nullopt;
}

template <auto value>
constexpr auto measured = number<&Record::measured, value>;
template <auto value>
constexpr auto predicted = number<&Record::predicted, value>;

template <auto field>
double of_step(const Measured& m) {
  return m.step_time_s.*field;
}

double launch_count(const Measured& m) { return static_cast<double>(m.step_time_s.samples.size()); }

double step_count(const Measured& m) {
  std::size_t steps = 0;
  for (const auto& launch : m.step_time_s.samples) steps += launch.size();
  return static_cast<double>(steps);
}

/// 0 bytes: no rank counted any.
double bytes_or_nan(std::int64_t bytes) { return bytes == 0 ? NAN : static_cast<double>(bytes); }

template <auto field>
double over_ranks(const Measured& m) {
  std::int64_t sum = 0;
  for (const RankMeasured& rank : m.ranks) sum += rank.*field;
  return static_cast<double>(sum);
}

/// Mean over the ranks that have a breakdown.
template <double Breakdown::*field>
double part(const Measured& m) {
  double sum = 0, ranks = 0;
  for (const RankMeasured& rank : m.ranks) {
    if (!rank.breakdown_s) continue;
    sum += (*rank.breakdown_s).*field;
    ++ranks;
  }
  return sum / ranks;
}

template <double Baseline::*field>
double of_baseline(const Measured& m) {
  return m.baseline ? (*m.baseline).*field : NAN;
}

template <double CaseError::*field>
Number error(const Record& record) {
  const auto both = case_error(record);
  return both ? finite((*both).*field) : std::nullopt;
}

Number update_difference(const Record& record) {
  const auto& difference = record.equivalence.max_relative_update_difference;
  return difference ? finite(*difference) : std::nullopt;
}

// clang-format off
constexpr MainNumber numbers[] = {
    {"launches", NumberUnit::none, "Measured launches", measured<launch_count>},
    {"steps", NumberUnit::none, "Timed steps of all launches", measured<step_count>},
    {"warmup_steps", NumberUnit::none, "Steps before the timed ones of a launch",
     measured<[](const Measured& m) { return static_cast<double>(m.warmup_steps); }>},
    {"step_time_median", NumberUnit::s, "Median step of all launches, measured", measured<of_step<&StepTime::median>>},
    {"step_time_p10", NumberUnit::s, "Tenth percentile of the measured steps", measured<of_step<&StepTime::p10>>},
    {"step_time_p90", NumberUnit::s, "Ninetieth percentile of the measured steps", measured<of_step<&StepTime::p90>>},
    {"step_time_ci95_low", NumberUnit::s, "Lower end of the median's 95 % bootstrap interval",
     measured<[](const Measured& m) { return m.step_time_s.ci95.first; }>},
    {"step_time_ci95_high", NumberUnit::s, "Upper end of the median's 95 % bootstrap interval",
     measured<[](const Measured& m) { return m.step_time_s.ci95.second; }>},
    {"isolated_step_time_median", NumberUnit::s, "Median of steps between barriers, measured",
     measured<[](const Measured& m) { return m.isolated_step_time_s ? m.isolated_step_time_s->median : NAN; }>},
    {"throughput", NumberUnit::samples_per_s, "Training samples per second, measured",
     measured<&Measured::throughput_samples_per_s>},
    {"achieved", NumberUnit::flops_per_s, "Floating-point operations of the model per second, measured",
     measured<&Measured::achieved_flops_per_s>},
    {"speedup", NumberUnit::relative, "Throughput over that of sequential training on as many cores",
     measured<of_baseline<&Baseline::speedup>>},
    {"efficiency", NumberUnit::relative, "Speed-up per core over that of sequential training",
     measured<of_baseline<&Baseline::efficiency>>},
    {"peak_memory", NumberUnit::bytes, "Counted memory of the rank that needs most, measured",
     measured<[](const Measured& m) { return bytes_or_nan(peak_bytes(m)); }>},
    {"peak_resident", NumberUnit::bytes, "Largest resident set of a rank, measured",
     measured<[](const Measured& m) { return bytes_or_nan(resident_bytes(m)); }>},
    {"sent", NumberUnit::bytes, "Sent by all ranks in a step", measured<over_ranks<&RankMeasured::bytes_sent>>},
    {"received", NumberUnit::bytes, "Received by all ranks in a step",
     measured<over_ranks<&RankMeasured::bytes_received>>},
    {"forward", NumberUnit::s, "Of a step in forward passes, mean over ranks", measured<part<&Breakdown::forward>>},
    {"backward", NumberUnit::s, "Of a step in backward passes, mean over ranks", measured<part<&Breakdown::backward>>},
    {"recompute", NumberUnit::s, "Of a step in forwards done again, mean over ranks",
     measured<part<&Breakdown::recompute>>},
    {"update", NumberUnit::s, "Of a step in updates of the weights, mean over ranks",
     measured<part<&Breakdown::update>>},
    {"communication_exposed", NumberUnit::s, "Of a step in communication that nothing hides, mean over ranks",
     measured<part<&Breakdown::communication_exposed>>},
    {"bubble", NumberUnit::s, "Of a step in waiting for work of other ranks, mean over ranks",
     measured<part<&Breakdown::bubble>>},
    {"data_wait", NumberUnit::s, "Of a step in waiting for samples, mean over ranks",
     measured<part<&Breakdown::data_wait>>},
    {"other", NumberUnit::s, "Of a step in the executor itself, mean over ranks", measured<part<&Breakdown::other>>},
    {"last_loss", NumberUnit::none, "Loss of the first launch's last step",
     measured<[](const Measured& m) { return m.losses.empty() ? NAN : m.losses.back(); }>},
    {"update_difference", NumberUnit::relative, "Largest difference of an update from the reference's",
     update_difference},
    {"predicted_step_time", NumberUnit::s, "Step time, predicted", predicted<&Predicted::step_time_s>},
    {"predicted_step_time_low", NumberUnit::s, "Lower end of the prediction's interval",
     predicted<[](const Predicted& p) { return known_interval(p) ? p.interval_s.first : NAN; }>},
    {"predicted_step_time_high", NumberUnit::s, "Upper end of the prediction's interval",
     predicted<[](const Predicted& p) { return known_interval(p) ? p.interval_s.second : NAN; }>},
    {"predicted_throughput", NumberUnit::samples_per_s, "Training samples per second, predicted",
     predicted<&Predicted::throughput_samples_per_s>},
    {"predicted_peak_memory", NumberUnit::bytes, "Counted memory of the rank that needs most, predicted",
     predicted<[](const Predicted& p) { return bytes_or_nan(peak_bytes(p)); }>},
    {"predicted_peak_resident", NumberUnit::bytes, "Largest resident set of a rank, predicted",
     predicted<[](const Predicted& p) { return bytes_or_nan(resident_bytes(p)); }>},
    {"step_time_error", NumberUnit::relative, "(predicted - measured) / measured step time",
     error<&CaseError::step_time>},
    {"adjusted_step_time_error", NumberUnit::relative, "The same, the machine's drift since the calibration taken out",
     [](const Record& record) {
       return record.error && record.error->adjusted ? finite(record.error->adjusted->relative) : std::nullopt;
     }},
    {"paired_step_time_error", NumberUnit::relative, "The same, of rounds predicted from their own calibration",
     [](const Record& record) { return record.error ? record.error->paired_step_time_relative : std::nullopt; }},
    {"step_time_noise_floor", NumberUnit::relative, "How far repeated measured step times are from each other",
     [](const Record& record) {
       return record.error && record.error->noise_floor ? finite(record.error->noise_floor->relative) : std::nullopt;
     }},
    {"peak_memory_error", NumberUnit::relative, "(predicted - measured) / measured peak memory",
     error<&CaseError::peak_memory>},
    {"peak_resident_error", NumberUnit::relative, "(predicted - measured) / measured largest resident set",
     error<&CaseError::resident_memory>},
};
// clang-format on

}  // namespace

std::span<const MainNumber> main_numbers() { return numbers; }

std::string full_name(const MainNumber& number) {
  const std::string_view unit = to_text(number.unit);
  return std::string(number.name) + (unit.empty() ? "" : "_") + std::string(unit);
}

}  // namespace parabench::results
