#include "results/record.h"

#include "base/statistics.h"

namespace parabench {
void summarise(StepTime& time) {
  std::vector<double> pooled;
  for (const std::vector<double>& launch : time.samples) pooled.insert(pooled.end(), launch.begin(), launch.end());
  time.median = median(pooled);
  time.p10 = quantile(pooled, 0.1);
  time.p90 = quantile(pooled, 0.9);
  time.ci95 = bootstrap_median(time.samples);
}

}  // namespace parabench
