// What a calibration launch of a plan measures; front and ranks ask the same question.
#pragma once

#include <vector>

#include "analytic/calibration/calibration.h"
#include "models/spec/model.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// Layers are timed alone and, with several ranks, with all of them busy; so are updates and copies.
struct CalibrationScope {
  std::vector<int> samples;      ///< of the chains of layers, ascending
  bool split_backwards = false;  ///< of the layers, too
  std::vector<int> group_sizes;  ///< members of the groups whose reductions are timed, ascending
  bool messages = false;         ///< from rank to rank
};
CalibrationScope calibration_scope(const plan::Plan& plan);

/// A calibration with all entries that such a launch would bring, their times being the data sheet's: what will be
/// known, not how long anything takes.
Calibration promised_calibration(const plan::Plan& plan, const models::ModelSpec& model, const MachineInfo& machine);

}  // namespace parabench::analytic
