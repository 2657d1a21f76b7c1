// Measures what predictions of cases need and nobody has measured yet.
#pragma once

#include "suite/launch/workplace.h"
#include "suite/machine/knowledge.h"
#include "suite/run/prepare.h"

namespace parabench {

/// Whether a case needs no more measurements: its forecast is calibrated, and not stretched to pieces of another
/// size than were measured.
bool is_measured(const Subject& subject, const Forecast& forecast, const Calibration* known);

/// Launches `--phase calibrate` for every runnable case, emulated ones apart, that is not measured in `known`, adding
/// each answer to `known` and, at once, to `file`. Returns the reasons of the launches that failed. Throws Interrupted;
/// what was measured before is kept.
std::vector<std::string> measure_missing(Workplace& workplace, const std::vector<Prepared>& cases,
                                         std::optional<Calibration>& known, CalibrationFile& file);

}  // namespace parabench
