// Plan files read back.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "parallelism/plan/durations.h"
#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// The plan of a plan file (print_json.h). Throws usage_error naming the place, the value there and what was expected.
Plan plan_from_json(const nlohmann::json& json);
/// The `seconds` and `on_link_seconds` of a plan file; `plan`: what it reads as. Throws usage_error where an operation
/// has none of the former, or more of the latter.
Durations durations_from_json(const nlohmann::json& plan_file, const Plan& plan);

}  // namespace parabench::plan
