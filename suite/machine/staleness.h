// Whether a calibration may no longer hold.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "suite/machine/knowledge.h"
#include "suite/run/progress.h"

namespace parabench::suite {

/// This program and the library that its ranks compute with, as calibrations name what measured them.
std::string software();

/// After so long updates of the system, and what else changes in a machine, make a calibration doubtful.
inline constexpr std::chrono::days calibration_lasts{30};

/// What speaks against predictions from a calibration file, with what to try: other software measured some of its
/// launches. "" where nothing does, of launches that do not say, and where there is no such file.
std::string other_software(const CalibrationFile& file);
/// The same of cases that were calibrated in it last on these dates (calibrated_on(); "" of one that was not): more
/// than calibration_lasts ago.
std::string age_of(const std::vector<std::string>& dates, const CalibrationFile& file, std::chrono::sys_seconds now);

/// The same of launches that were disturbed (disturbance.h), as far as the file's other ones tell.
std::string disturbed_launches(const CalibrationFile& file);

/// Say so: of a file in use, and of the cases that are predicted, now.
void note_doubts(const CalibrationFile& file, Progress& progress);
void note_age(const std::vector<std::string>& dates, const CalibrationFile& file, Progress& progress);

}  // namespace parabench::suite
