// Canaries as JSON, as results and calibrations hold them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/canary.h"
#include "base/json_reader.h"

namespace parabench {

nlohmann::json to_json(const Canary& canary);
/// Those of several launches, as a list.
nlohmann::json to_json(const std::vector<Canary>& canaries);
/// Throws usage_error naming the place, also for a time that is not above 0, or a spread below 1.
Canary canary_from_json(const JsonReader& reader);
/// The list `canary` of an object; an older file's has none.
std::vector<Canary> canaries_in(const JsonReader& object);

}  // namespace parabench
