#include "results/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/statistics.h"
#include "base/units_text.h"

namespace parabench::results {
namespace {

double relative(double predicted, double measured) { return (predicted - measured) / measured; }

double relative_bytes(std::int64_t predicted, std::int64_t measured) {
  return relative(static_cast<double>(predicted), static_cast<double>(measured));
}

template <class RankRow>
std::int64_t highest(const std::vector<RankRow>& ranks) {
  std::int64_t bytes = 0;
  for (const RankRow& rank : ranks) bytes = std::max(bytes, rank.peak_memory.total_counted());
  return bytes;
}

template <class RankRow>
std::int64_t most_resident(const std::vector<RankRow>& ranks) {
  std::int64_t bytes = 0;
  for (const RankRow& rank : ranks) bytes = std::max(bytes, rank.peak_memory.resident);
  return bytes;
}

}  // namespace

bool counts(const Record& record) { return record.status == Status::ok && !differs(record.equivalence); }

std::string why_not_counted(const Record& record) {
  if (counts(record)) return "";
  const bool unequal = record.status == Status::ok;
  const std::string what = unequal ? "not equivalent" : std::string(to_text(record.status));
  std::string why = unequal ? record.equivalence.reason : record.reason;
  if (unequal && record.equivalence.status != EquivalenceStatus::fail)
    why = "its losses are not those of the reference" + (why.empty() ? "" : ", " + why);
  return why.empty() ? what : fmt::format("{}: {}", what, why);
}

bool is_checked(const Record& record) { return record.equivalence.status != EquivalenceStatus::not_checked; }

bool differs(const Equivalence& equivalence) {
  return equivalence.status == EquivalenceStatus::fail || equivalence.loss_agrees == false;
}

bool trains_otherwise(const Record& record) {
  const std::string& reference = record.equivalence.reference;
  return reference != "sequential" && reference != "peer";
}

std::int64_t peak_bytes(const Measured& measured) { return highest(measured.ranks); }
std::int64_t peak_bytes(const Predicted& predicted) { return highest(predicted.ranks); }

Placement placement_of(const Measured& measured) {
  std::vector<std::string> hosts;
  for (const RankMeasured& rank : measured.ranks) hosts.push_back(rank.host);
  return placement_by_names(hosts);
}

std::int64_t resident_bytes(const Measured& measured) { return most_resident(measured.ranks); }
std::int64_t resident_bytes(const Predicted& predicted) { return most_resident(predicted.ranks); }

std::optional<std::pair<double, double>> known_interval(const Predicted& predicted) {
  const auto& [low, high] = predicted.interval_s;
  return low < high ? std::optional(predicted.interval_s) : std::nullopt;
}

double spread_of(std::span<const double> measured) {
  double sum = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    std::vector<double> others(measured.begin(), measured.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    sum += std::abs(relative(median(others), measured[i]));
  }
  return sum / static_cast<double>(measured.size());
}

std::optional<NoiseFloor> noise_floor(const Predicted& predicted, const Measured& measured) {
  const std::vector<double> launches = launch_medians(measured);
  if (launches.size() >= 2) return NoiseFloor{spread_of(launches), true};
  const auto interval = known_interval(predicted);
  if (!interval || launches.empty()) return std::nullopt;
  // The interval is that of 95 % of normal values, 1.96 standard deviations each way.
  const double deviation = (interval->second - interval->first) / (2 * 1.96);
  return NoiseFloor{std::sqrt(2 / std::numbers::pi) * deviation / launches.front(), false};
}

bool is_within(double error, const NoiseFloor& floor) { return std::abs(error) <= floor.relative; }

std::string noise_percent(const NoiseFloor& floor, double error) {
  if (!std::isfinite(floor.relative)) return "-";
  return fmt::format("{}{}{}", floor.of_launches ? "" : "~", human_share(floor.relative),
                     is_within(error, floor) ? ", within" : "");
}

PredictionError compare(const Predicted& predicted, const Measured& measured, std::span<const PairedRound> paired) {
  PredictionError error;
  error.step_time_relative = relative(predicted.step_time_s, measured.step_time_s.median);
  error.noise_floor = noise_floor(predicted, measured);
  std::vector<double> rounds;
  for (const PairedRound& round : paired)
    rounds.push_back(relative(round.predicted_step_time_s, round.measured_step_time_s));
  if (!rounds.empty()) error.paired_step_time_relative = median(rounds);
  for (std::size_t rank = 0; rank < measured.ranks.size(); ++rank) {
    const RankPredicted& expected = predicted.ranks.at(rank);
    const RankMeasured& actual = measured.ranks[rank];
    if (const std::int64_t counted = actual.peak_memory.total_counted(); counted > 0)
      error.peak_memory_relative.push_back(relative_bytes(expected.peak_memory.total_counted(), counted));
    if (expected.peak_memory.resident > 0 && actual.peak_memory.resident > 0) {
      error.resident_memory_relative.push_back(
          relative_bytes(expected.peak_memory.resident, actual.peak_memory.resident));
    }
    if (!actual.breakdown_s) continue;
    Breakdown& difference = error.breakdown_s.emplace_back();
    for (const auto& [name, field] : breakdown_fields) {
      difference.*field = expected.breakdown_s.*field - (*actual.breakdown_s).*field;
    }
  }
  return error;
}

std::optional<CaseError> case_error(const Record& record) {
  if (!record.predicted || !record.measured) return std::nullopt;
  const Predicted& predicted = *record.predicted;
  const Measured& measured = *record.measured;
  const std::int64_t resident = resident_bytes(predicted);
  return CaseError{relative(predicted.step_time_s, measured.step_time_s.median),
                   relative_bytes(peak_bytes(predicted), peak_bytes(measured)),
                   resident > 0 ? relative_bytes(resident, resident_bytes(measured)) : NAN};
}

std::string_view kind_of(const MeanError& mean) {
  if (mean.emulated) return "emulated";
  return mean.checked ? "checked" : "unchecked";
}

std::vector<MeanError> mean_errors(std::span<const Record> records) {
  std::vector<const Record*> all;
  for (const Record& record : records) all.push_back(&record);
  return mean_errors(all);
}

std::vector<MeanError> mean_errors(std::span<const Record* const> records) {
  std::vector<MeanError> means = {{.checked = true}, {}, {.emulated = true}};
  for (MeanError& kind : means) {
    std::vector<double> time, adjusted, paired, bytes, noise;
    bool of_launches = true;
    for (const Record* record : records) {
      if (!counts(*record) || is_emulated(record->parameters) != kind.emulated || is_checked(*record) != kind.checked)
        continue;
      const auto error = case_error(*record);
      if (!error || !std::isfinite(error->step_time)) continue;
      time.push_back(std::abs(error->step_time));
      if (record->error && record->error->adjusted) adjusted.push_back(std::abs(record->error->adjusted->relative));
      if (record->error && record->error->paired_step_time_relative)
        paired.push_back(std::abs(*record->error->paired_step_time_relative));
      if (std::isfinite(error->peak_memory)) bytes.push_back(std::abs(error->peak_memory));
      if (record->error && record->error->noise_floor && std::isfinite(record->error->noise_floor->relative)) {
        noise.push_back(record->error->noise_floor->relative);
        of_launches = of_launches && record->error->noise_floor->of_launches;
      }
    }
    kind.cases = static_cast<int>(time.size());
    if (!time.empty()) kind.step_time = mean(time);
    if (!adjusted.empty()) kind.adjusted = mean(adjusted);
    if (!paired.empty()) kind.paired = mean(paired);
    if (!bytes.empty()) kind.peak_memory = mean(bytes);
    if (!noise.empty()) kind.noise_floor = NoiseFloor{mean(noise), of_launches};
  }
  std::erase_if(means, [](const MeanError& kind) { return kind.cases == 0; });
  return means;
}

std::vector<double> launch_medians(const Measured& measured) {
  std::vector<double> medians;
  for (std::vector<double> launch : measured.step_time_s.samples) {
    std::erase_if(launch, [](double step) { return !std::isfinite(step) || step <= 0; });
    if (!launch.empty()) medians.push_back(median(launch));
  }
  return medians;
}

std::optional<LaunchNoise> launch_noise(std::span<const Record> records, DeviceKind device) {
  LaunchNoise noise;
  std::vector<double> differences;
  for (const Record& record : records) {
    if (!record.measured || !counts(record) || record.parameters.device != device) continue;
    const std::vector<double> medians = launch_medians(*record.measured);
    if (medians.size() < fewest_launches) continue;
    ++noise.cases;
    noise.launches += static_cast<int>(medians.size());
    for (std::size_t i = 0; i < medians.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) differences.push_back(std::abs(std::log(medians[i] / medians[j])));
  }
  if (differences.empty()) return std::nullopt;
  noise.degrees_of_freedom = noise.launches - noise.cases;
  // 1 / (sqrt(2) x the normal distribution's upper quartile): the median of |x - y| is sqrt(2) x 0.6745 sigma.
  noise.sigma = 1.0483580 * median(differences);
  return noise;
}

double smallest_difference(const LaunchNoise& noise, std::size_t launches_a, std::size_t launches_b, double alpha) {
  const double launches = 1 / (1 / static_cast<double>(launches_a) + 1 / static_cast<double>(launches_b));
  return student_t_quantile(1 - alpha / 2, noise.degrees_of_freedom) * noise.sigma *
         std::sqrt(std::numbers::pi / 2 / launches);
}

}  // namespace parabench::results
