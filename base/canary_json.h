// Canaries as JSON, as results and calibrations hold them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/canary.h"
#include "base/json_reader.h"

namespace parabench {

nlohmann::json to_json(const Canary& canary);
/// Throws usage_error naming the place, also for a time that is not above 0.
Canary canary_from_json(const JsonReader& reader);

}  // namespace parabench
