// When enough launches of a case have been measured.
#pragma once

#include <optional>

#include "results/record.h"

namespace parabench::suite {

/// Launches under which an interval over launches says too little to stop by it: of three it is about their range,
/// which holds the median in 75 % of trials (bootstrap_median).
inline constexpr int least_for_interval = 6;

struct StoppingRule {
  int repetitions = 1;             ///< launches at least; without an interval, exactly as many
  std::optional<double> interval;  ///< go on until half of the 95 % interval is no wider than this share of the median
  int most = 30;                   ///< launches at most, where there is an interval
};

/// Launches that a case has at least, failures apart.
int least_launches(const StoppingRule& rule);

/// Why to stop after these launches, whose time is summarised (record.h); nullopt: go on.
std::optional<results::StopReason> enough(const results::StepTime& time, const StoppingRule& rule);

}  // namespace parabench::suite
