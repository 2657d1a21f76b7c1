// Calibration of what a run's cases need and nobody has measured yet.
#pragma once

#include <vector>

#include "suite/machine/calibrate.h"
#include "suite/run/prepare.h"

namespace parabench::suite {

/// Measures it, keeps it in `file` and forecasts the cases again. What fails, or cannot be kept, is a note, and so is
/// how many cases are then predicted from a single launch.
void calibrate_first(std::vector<Prepared>& cases, const PrepareOptions& prepare_options, CalibrationFile& file,
                     const RunOptions& options, const Placements& placements, Workplace& workplace);

}  // namespace parabench::suite
