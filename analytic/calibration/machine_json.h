// Machines as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analytic/calibration/machine.h"
#include "base/json_reader.h"

namespace parabench::analytic {

nlohmann::json to_json(const MachineInfo& machine);
/// Throws usage_error for what is foreign or incomplete, naming the place.
MachineInfo machine_from_json(const JsonReader& reader);

}  // namespace parabench::analytic
