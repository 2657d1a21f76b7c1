#include "results/record.h"

#include "base/statistics.h"

namespace parabench::results {
double loss_tolerance(Precision precision) {
  switch (precision) {
    case Precision::fp32: return 1e-3;
    case Precision::tf32:
    case Precision::bf16: return 2e-2;
    case Precision::fp64: return 1e-9;
  }
  return 0;
}

void summarise(StepTime& time) {
  std::vector<double> pooled;
  for (const std::vector<double>& launch : time.samples) pooled.insert(pooled.end(), launch.begin(), launch.end());
  time.median = median(pooled);
  time.p10 = quantile(pooled, 0.1);
  time.p90 = quantile(pooled, 0.9);
  time.ci95 = bootstrap_median(time.samples);
}

}  // namespace parabench::results
