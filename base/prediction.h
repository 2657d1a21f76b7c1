// A prediction with every term's formula and origin.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/measures.h"
#include "base/step_timeline.h"
#include "base/time_parts.h"

namespace parabench {

struct Term {
  std::string name;
  double value = 0;
  std::string unit, formula, source;
  std::string cost_source;  ///< "calibrated" | "data-sheet" | "unit" | "given"
  std::string date = {};    ///< of the newest launch of the calibration behind the case's layers, where none is known
                            ///< of the newest of all, ISO 8601; "" of what was not calibrated, or not known
};

struct RankPredicted {
  Rank rank;
  MemoryUsage peak_memory;
  Breakdown breakdown_s;
};

/// Summed over one rank's operations of a step.
struct StepParts {
  Rank rank;
  TimeParts seconds;
};

/// The launches of a calibration that a prediction rests on.
struct LaunchesBehind {
  int launches = 1;                   ///< that measured each of the case's layers, of the layer that fewest measured
  std::string first_date, last_date;  ///< ISO 8601, of the earliest and the latest that measured one of them
  /// Standard deviation (n - 1) between launches of the sum over the case's layers, relative to its median; nullopt
  /// where fewer than two measured them all.
  std::optional<double> spread;
  bool operator==(const LaunchesBehind&) const = default;
};

struct Predicted {
  double step_time_s = 0;                      ///< steady state
  std::optional<double> isolated_step_time_s;  ///< of one step alone, of a round of steps per step where
                                               ///< they average weights now and then; asynchronous plans have none
  double throughput_samples_per_s = 0;
  std::pair<double, double> interval_s{0, 0};
  std::vector<RankPredicted> ranks;
  std::optional<StepParts> step_parts;  ///< of the busiest rank; nullopt: a file of schema 1.5 or before
  std::vector<Term> terms;
  /// What the matrix product of a canary took when the layers were calibrated; nullopt where that is not known.
  std::optional<double> canary_matrix_product_s;
  std::optional<LaunchesBehind> calibrated_by;               ///< nullopt: not calibrated, emulated, or not known
  std::map<std::string, double> second_opinion_step_time_s;  ///< closed forms by name
  /// What closed forms assume and the case does not keep, a clause each, by their names; of others nothing.
  std::map<std::string, std::vector<std::string>> broken_assumptions;
  std::optional<StepTimeline>
      timeline;  ///< of a typical step; nullopt: too long, waiting for samples, or a file of schema 1.6 or before
};

}  // namespace parabench
