// Whether a calibration may no longer hold.
#pragma once

#include <chrono>
#include <string>

#include "analytic/calibration/calibration.h"
#include "suite/machine/knowledge.h"
#include "suite/run/progress.h"

namespace parabench::suite {

/// This program and the library that its ranks compute with, as calibrations name what measured them.
std::string software();

/// After so long updates of the system, and what else changes in a machine, make a calibration doubtful.
inline constexpr std::chrono::days calibration_lasts{30};

/// Of the launches of a calibration, what speaks against predictions from them, with what to try: the newest is older
/// than calibration_lasts, or other software measured some. "" where nothing does, and of launches that do not say.
std::string staleness(const analytic::Calibration& calibration, std::chrono::sys_seconds now);

/// Says so of a file in use, now.
void note_staleness(const CalibrationFile& file, Progress& progress);

}  // namespace parabench::suite
