#include "suite/run/stopping.h"

#include <algorithm>

namespace parabench::suite {

int least_launches(const StoppingRule& rule) {
  return rule.interval ? std::min(std::max(rule.repetitions, least_for_interval), rule.most) : rule.repetitions;
}

std::optional<results::StopReason> enough(const results::StepTime& time, const StoppingRule& rule) {
  const int launches = static_cast<int>(time.samples.size());
  if (launches < least_launches(rule)) return std::nullopt;
  if (!rule.interval) return results::StopReason::repetitions;
  const double half_width = (time.ci95.second - time.ci95.first) / 2;
  if (launches >= least_for_interval && half_width <= *rule.interval * time.median)
    return results::StopReason::interval;
  if (launches < rule.most) return std::nullopt;
  return results::StopReason::limit;
}

}  // namespace parabench::suite
