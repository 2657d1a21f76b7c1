// Predictions of a case that has run, made again from less than is known.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "analytic/costs/ablation.h"
#include "results/record.h"
#include "suite/protocol/paired_rounds.h"

namespace parabench::suite {

/// Errors of predictions of the plan that ran, (predicted - measured) / measured.
struct Repredicted {
  double whole = 0;                ///< from the calibration, with all terms
  std::optional<double> held_out;  ///< without what was measured at the case's own samples (hold_out.h)
  std::optional<double> stale;     ///< from the older calibration
  std::optional<double> paired;    ///< of its rounds, each from its own calibration: the median
  std::optional<double> ddlbench;  ///< of DDLBench's equations, from the calibration (results::ddlbench_step_time)
  /// Without one term of the model, in the order of AblatedTerm; without what rehearsals tell, which forecasts never
  /// have, so from chains alone; and without waiting: the step is then the work of the rank that works longest.
  struct Ablated {
    std::array<std::optional<double>, enum_values<analytic::AblatedTerm>.size()> terms;
    std::optional<double> rehearsal, waiting;
  };
  Ablated ablated, ablated_paired;
};

/// nullopt without any.
std::optional<double> median_of(const std::vector<double>& errors);

/// From what a case is predicted again. Of `calibration` its forecast was made.
struct Sources {
  const analytic::Calibration& calibration;
  const analytic::Calibration* older = nullptr;    ///< nullptr: there is none
  const protocol::PairedRounds* rounds = nullptr;  ///< likewise
};

/// Of a record of our ranks that was measured. `ablate`: the last two as well. nullopt where this program cuts another
/// plan from the calibration than the one that ran, or cannot predict the case from it: of other products, emulated
/// devices, schedules from files.
std::optional<Repredicted> repredict(const results::Record& record, const Sources& from, bool ablate);

/// Makes the predictions of a record's rounds, and its paired error, those of this program; leaves them as they are
/// where none were kept, or where it has no plan or prediction of the case, as repredict(). Precondition: counts().
void pair_again(results::Record& record, const Sources& from);

}  // namespace parabench::suite
