// What one rank has measured, for rank 0, which concludes from all of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/json_reader.h"
#include "parallelism/plan/timeline.h"
#include "results/record.h"

namespace parabench::protocol {

/// Times are in seconds on the clock of rank 0.
struct RankReport {
  struct Interval {
    double begin = 0, end = 0;
    bool operator==(const Interval&) const = default;
  };
  results::RankMeasured measured;              ///< what the rank knows by itself: neither breakdown nor bus bandwidth
  std::vector<std::vector<plan::Span>> spans;  ///< of the window, [lane][index] as in the plan
  std::vector<Interval> isolated;              ///< steps that ran alone, after the window
  std::vector<double> losses;  ///< the rank's share of each step's mean loss; empty where nothing is trained
  int ranks_on_device = 1;     ///< that compute on its GPU, itself among them; 1 on the processor
};

nlohmann::json to_json(const RankReport& report);
/// Throws usage_error naming the place.
RankReport rank_report_from_json(const JsonReader& reader);

}  // namespace parabench::protocol
