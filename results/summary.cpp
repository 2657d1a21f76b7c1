#include "results/summary.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace parabench::results {
namespace {

double relative(double predicted, double measured) { return (predicted - measured) / measured; }

template <class RankRow>
std::int64_t highest(const std::vector<RankRow>& ranks) {
  std::int64_t bytes = 0;
  for (const RankRow& rank : ranks) bytes = std::max(bytes, rank.peak_memory.total_counted());
  return bytes;
}

}  // namespace

bool counts(const Record& record) { return record.status == Status::ok && !differs(record.equivalence); }

bool is_checked(const Record& record) { return record.equivalence.status != EquivalenceStatus::not_checked; }

bool differs(const Equivalence& equivalence) {
  return equivalence.status == EquivalenceStatus::fail || equivalence.loss_agrees == false;
}

std::int64_t peak_bytes(const Measured& measured) { return highest(measured.ranks); }
std::int64_t peak_bytes(const Predicted& predicted) { return highest(predicted.ranks); }

PredictionError compare(const Predicted& predicted, const Measured& measured) {
  PredictionError error;
  error.step_time_relative = relative(predicted.step_time_s, measured.step_time_s.median);
  for (std::size_t rank = 0; rank < measured.ranks.size(); ++rank) {
    const RankPredicted& expected = predicted.ranks.at(rank);
    const RankMeasured& actual = measured.ranks[rank];
    if (const auto counted = static_cast<double>(actual.peak_memory.total_counted()); counted > 0) {
      error.peak_memory_relative.push_back(
          relative(static_cast<double>(expected.peak_memory.total_counted()), counted));
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
  return CaseError{
      relative(record.predicted->step_time_s, record.measured->step_time_s.median),
      relative(static_cast<double>(peak_bytes(*record.predicted)), static_cast<double>(peak_bytes(*record.measured)))};
}

std::vector<MeanError> mean_errors(std::span<const Record> records) {
  std::vector<MeanError> means = {{.checked = true}, {}, {.emulated = true}};
  for (MeanError& kind : means) {
    std::vector<double> time, bytes;
    for (const Record& record : records) {
      if (!counts(record) || is_emulated(record.parameters) != kind.emulated || is_checked(record) != kind.checked)
        continue;
      const auto error = case_error(record);
      if (!error || !std::isfinite(error->step_time)) continue;
      time.push_back(std::abs(error->step_time));
      if (std::isfinite(error->peak_memory)) bytes.push_back(std::abs(error->peak_memory));
    }
    kind.cases = static_cast<int>(time.size());
    if (!time.empty()) kind.step_time = mean(time);
    if (!bytes.empty()) kind.peak_memory = mean(bytes);
  }
  std::erase_if(means, [](const MeanError& kind) { return kind.cases == 0; });
  return means;
}

}  // namespace parabench::results
