// A step so small that it asks what the machine can do, not what it takes.
#pragma once

#include "analytic/calibration/machine.h"
#include "suite/run/forecast.h"

namespace parabench::suite {

/// Of data parallelism on two ranks, with its plan for `warmup` and `steps` steps; `processes`: ranks are processes,
/// else threads of one.
Forecast small_step(const analytic::MachineInfo& machine, bool processes, int warmup, int steps);

}  // namespace parabench::suite
