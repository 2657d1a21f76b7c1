#include "results/record.h"

#include "base/statistics.h"

namespace parabench {
namespace {

double relative(double predicted, double measured) { return (predicted - measured) / measured; }

}  // namespace

void summarise(StepTime& time) {
  std::vector<double> pooled;
  for (const std::vector<double>& launch : time.samples) pooled.insert(pooled.end(), launch.begin(), launch.end());
  time.median = median(pooled);
  time.p10 = quantile(pooled, 0.1);
  time.p90 = quantile(pooled, 0.9);
  time.ci95 = bootstrap_median(time.samples);
}

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

}  // namespace parabench
