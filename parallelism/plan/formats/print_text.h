// A plan as text.
#pragma once

#include <string>

#include "parallelism/plan/plan.h"
#include "parallelism/plan/timeline.h"

namespace parabench::plan {

/// One line per rank, passes only: `p0 F0 F1 B0 B1`, spelled as actions.h says. The segments of one stage show as one
/// action, two that may overlap as `(0F3|3B1)`. Asynchronous plans number the micro-batches of the window.
std::string to_text(const Plan& plan);
/// Time runs to the right, one row per rank, one column per time unit: the duration of the timeline's shortest action
/// (with unit costs 1). A cell holds the action that runs in the middle of its column, `U` an update, `.` nothing.
std::string to_grid(const Plan& plan, const Timeline& timeline);

}  // namespace parabench::plan
