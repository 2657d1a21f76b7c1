// How long sets of cases would take on this machine.
#pragma once

#include "suite/machine/doctor.h"
#include "suite/machine/knowledge.h"
#include "suite/run/prepare.h"

namespace parabench::suite {

/// Of every set (suite/cases/sets.h) the seconds that `run --set NAME` should take by its predictions, calibration
/// included, for the cases that run here.
Check run_time_check(const PrepareOptions& options, const Knowledge& knowledge);

}  // namespace parabench::suite
