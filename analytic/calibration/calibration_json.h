// Calibrations as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "analytic/calibration/calibration.h"
#include "base/json_reader.h"

namespace parabench::analytic {

/// All of its launches, each whole.
nlohmann::json to_json(const Calibration& calibration);
/// Combines the launches; reads files of schema 2, too. Throw usage_error for what is foreign, incomplete or newer,
/// naming the place.
Calibration calibration_from_json(const JsonReader& reader);
/// Of a document of its own; `name` begins every place.
Calibration calibration_from_json(const nlohmann::json& json, const std::string& name = "calibration");

}  // namespace parabench::analytic
