// Predictions of a case that has run, made again from less than is known.
#pragma once

#include <array>
#include <optional>

#include "analytic/calibration/calibration.h"
#include "analytic/costs/ablation.h"
#include "results/record.h"

namespace parabench::suite {

/// Step times in seconds of the plan that ran.
struct Repredicted {
  double whole_s = 0;                ///< from the calibration, with all terms
  std::optional<double> held_out_s;  ///< without what was measured at the case's own samples (hold_out.h)
  std::optional<double> stale_s;     ///< from the older calibration
  /// Without one term of the model, in the order of AblatedTerm.
  std::array<std::optional<double>, enum_values<analytic::AblatedTerm>.size()> ablated_s;
  std::optional<double> without_waiting_s;  ///< of the rank that works longest, if no rank waited for another
};

/// Of a record of our ranks that was measured. `calibration`: what its forecast was made from. `older`: nullptr where
/// there is none. `ablate`: the last two as well. nullopt where this program cuts another plan from the calibration
/// than the one that ran, or cannot predict the case from it: of other products, emulated devices, schedules from
/// files.
std::optional<Repredicted> repredict(const results::Record& record, const analytic::Calibration& calibration,
                                     const analytic::Calibration* older, bool ablate);

}  // namespace parabench::suite
