// Devices that a prediction is made for though nobody may have meant them.
#pragma once

#include <string>

#include "analytic/calibration/machine.h"
#include "base/case.h"

namespace parabench::suite {

/// Where GPUs are asked for and none is known, which one stands in; where a data sheet has GPUs and the case computes
/// on its host's processors, how to take the former; with what to try. "" else.
std::string unexpected_device(const analytic::MachineInfo& machine, const Case& spec);

}  // namespace parabench::suite
