// A plan for people and for files: grid, text, drawing, JSON, trace.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "parallelism/plan/durations.h"
#include "parallelism/plan/plan.h"
#include "parallelism/plan/timeline.h"

namespace parabench {

/// One line per rank, passes only: `p0 F0 F1 B0 B1`, spelled as actions.h says. The segments of one stage show as one
/// action, two that may overlap as `(0F3|3B1)`. Asynchronous plans number the micro-batches of the window.
std::string to_text(const Plan& plan);
/// Time runs to the right, one row per rank, one column per time unit: the duration of the timeline's shortest action
/// (with unit costs 1). A cell holds the action that runs in the middle of its column, `U` an update, `.` nothing.
std::string to_grid(const Plan& plan, const Timeline& timeline);
/// A drawing of the timeline: one row per rank, a bar per action with its micro-batch, hue by kind, shade by chunk; the
/// same text for the same plan and times.
std::string to_svg(const Plan& plan, const Timeline& timeline);
/// torch.distributed.pipelining's action format: one row per rank, compute and point-to-point actions in an order in
/// which they can run one after the other, two that may overlap as `(2F3;1B0)OVERLAP_F_B`; of copies the first one's
/// rows. Messages of skips, which it has no word for, are left out: who reads it as a schedule adds them again. Throws usage_error for a plan that dead-locks or whose ranks serve several replicas.
std::string to_csv(const Plan& plan);

/// The plan file. One object per operation, lane by lane.
nlohmann::json to_json(const Plan& plan);
/// With `start` and `end` of each operation in seconds from the origin, `makespan` and `bubble_fraction`; read as a
/// plan, these are left out, and so are `steady_step` and `steady_bubble_fraction`.
nlohmann::json to_json(const Plan& plan, const Timeline& timeline);
/// Writes the `seconds` of each operation into a plan file; read as a plan, these are left out.
void add_durations(nlohmann::json& plan_file, const Plan& plan, const Durations& durations);
/// Throws usage_error naming the missing or foreign field.
Plan plan_from_json(const nlohmann::json& json);
/// The `seconds` of a plan file; `plan`: what it reads as. Throws usage_error where an operation has none.
Durations durations_from_json(const nlohmann::json& plan_file, const Plan& plan);
/// 16 hexadecimal digits: FNV-1a 64 of the canonical JSON without times.
std::string hash(const Plan& plan);

/// Chrome trace events, one tid per lane (pid = rank); times in microseconds.
nlohmann::json to_trace(const Plan& plan, const Timeline& timeline);

}  // namespace parabench
