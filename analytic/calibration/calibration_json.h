// Calibrations as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "analytic/calibration/calibration.h"
#include "base/json_reader.h"

namespace parabench::analytic {

nlohmann::json to_json(const MachineInfo& machine);
nlohmann::json to_json(const Calibration& calibration);
/// Throw usage_error for what is foreign, incomplete or newer, naming the place.
MachineInfo machine_from_json(const JsonReader& reader);
Calibration calibration_from_json(const JsonReader& reader);
/// Of a document of its own; `name` begins every place.
Calibration calibration_from_json(const nlohmann::json& json, const std::string& name = "calibration");

}  // namespace parabench::analytic
