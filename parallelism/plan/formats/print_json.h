// Plan files: a plan as JSON, which read_json.h reads back.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "parallelism/plan/durations.h"
#include "parallelism/plan/plan.h"
#include "parallelism/plan/timeline.h"

namespace parabench::plan {

inline constexpr std::string_view plan_file_format = "parabench-plan-3";
inline constexpr const char* plan_file_hint = "is this a plan file of this program?";

/// The plan file. One object per operation, lane by lane.
nlohmann::json to_json(const Plan& plan);
/// With `start` and `end` of each operation in seconds from the origin, `makespan` and `bubble_fraction`; read as a
/// plan, these are left out, and so are `steady_step` and `steady_bubble_fraction`.
nlohmann::json to_json(const Plan& plan, const Timeline& timeline);
/// Writes the `seconds` of each operation into a plan file, and of those that share links `on_link_seconds`; read as a
/// plan, these are left out.
void add_durations(nlohmann::json& plan_file, const Plan& plan, const Durations& durations);
/// 16 hexadecimal digits: FNV-1a 64 of the canonical JSON without times.
std::string hash(const Plan& plan);

}  // namespace parabench::plan
