// Measures what predictions of cases need and nobody has measured yet.
#pragma once

#include "suite/knowledge.h"
#include "suite/prepare.h"
#include "suite/workplace.h"

namespace parabench {

/// Launches `--phase calibrate` for every runnable case that `known` cannot predict, adding each answer to `known` and, at once,
/// to `file`. Returns the reasons of the launches that failed. Throws Interrupted; what was measured before is kept.
std::vector<std::string> measure_missing(Workplace& workplace, const std::vector<Prepared>& cases,
                                         std::optional<Calibration>& known, CalibrationFile& file);

}  // namespace parabench
